#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "duckdb/parser/parsed_data/alter_table_info.hpp"

namespace kelda::sql {

/// ALTER TABLE ... ADD COLUMN with what DuckDB's grammar cannot say: kColumnTypeTag and
/// kColumnCommentTag and kColumnAfterTag of create_table_contract.h, each with the name of the
/// column behind it. An exact type is missing where DuckDB reads the same.
struct TaggedAddColumnInfo : public duckdb::AddColumnInfo {
  using Tags = std::vector<std::pair<std::string, std::string>>;

  TaggedAddColumnInfo(const duckdb::AddColumnInfo& info, Tags tags_of_column)
      : AddColumnInfo(info.GetAlterEntryData(), info.new_column.Copy(), info.if_column_not_exists),
        tags(std::move(tags_of_column)) {}
  duckdb::unique_ptr<duckdb::AlterInfo> Copy() const override {
    return duckdb::make_uniq_base<duckdb::AlterInfo, TaggedAddColumnInfo>(*this, tags);
  }

  /// Value of the tag with `prefix`; null if there is none.
  const std::string* Find(std::string_view prefix) const {
    for (const auto& [key, value] : tags) {
      if (key.starts_with(prefix)) return &value;
    }
    return nullptr;
  }

  const Tags tags;
};

}  // namespace kelda::sql
