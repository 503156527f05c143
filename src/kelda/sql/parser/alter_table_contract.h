#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "duckdb/parser/parsed_data/alter_table_info.hpp"

#include "kelda/sql/parser/alter_table_contract_keys.h"

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

/// The values of kColumnChangeTag, next to what DuckDB makes of the statement.
struct ColumnChanges {
  explicit ColumnChanges(std::vector<std::string> changes_of_columns)
      : changes(std::move(changes_of_columns)) {}
  virtual ~ColumnChanges() = default;

  const std::vector<std::string> changes;
};

/// Changes that DuckDB's grammar cannot say; DuckDB takes them for a change of options.
struct TaggedAlterInfo : public duckdb::SetTableOptionsInfo, public ColumnChanges {
  TaggedAlterInfo(const duckdb::AlterInfo& info, std::vector<std::string> changes_of_columns)
      : SetTableOptionsInfo(info.GetAlterEntryData(), {}),
        ColumnChanges(std::move(changes_of_columns)) {}
  duckdb::unique_ptr<duckdb::AlterInfo> Copy() const override {
    return duckdb::make_uniq_base<duckdb::AlterInfo, TaggedAlterInfo>(*this, changes);
  }
};

/// ALTER COLUMN ... TYPE with the exact type.
struct TaggedColumnTypeInfo : public duckdb::ChangeColumnTypeInfo, public ColumnChanges {
  TaggedColumnTypeInfo(const duckdb::ChangeColumnTypeInfo& info,
                       std::vector<std::string> changes_of_columns)
      : ChangeColumnTypeInfo(info.GetAlterEntryData(), info.column_name, info.target_type,
                             info.expression->Copy()),
        ColumnChanges(std::move(changes_of_columns)) {}
  duckdb::unique_ptr<duckdb::AlterInfo> Copy() const override {
    return duckdb::make_uniq_base<duckdb::AlterInfo, TaggedColumnTypeInfo>(*this, changes);
  }
};

/// ADD COLUMN of a member with the exact type.
struct TaggedAddFieldInfo : public duckdb::AddFieldInfo, public ColumnChanges {
  TaggedAddFieldInfo(const duckdb::AddFieldInfo& info, std::vector<std::string> changes_of_columns)
      : AddFieldInfo(info.GetAlterEntryData(), info.column_path, info.new_field.Copy(),
                     info.if_field_not_exists),
        ColumnChanges(std::move(changes_of_columns)) {}
  duckdb::unique_ptr<duckdb::AlterInfo> Copy() const override {
    return duckdb::make_uniq_base<duckdb::AlterInfo, TaggedAddFieldInfo>(*this, changes);
  }
};

}  // namespace kelda::sql
