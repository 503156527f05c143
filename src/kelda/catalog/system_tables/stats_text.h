#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kelda/metadata/manifest.h"
#include "kelda/metadata/table_context.h"

namespace kelda::system_tables {

/// Texts `{a=1, b=null}` of the value statistics of data files, by the columns of one schema in the
/// order of their names. Files of other schemas are mapped by field id: a column that the file
/// lacks is null in all its rows; bounds of another type are printed where the text tells the same
/// value, else as null (unknown). Thread-safe.
class StatsTexts {
 public:
  explicit StatsTexts(const TableContext& table);

  arrow::Result<std::string> NullCounts(const DataFileMeta& file) const;
  arrow::Result<std::string> MinValues(const DataFileMeta& file) const;
  arrow::Result<std::string> MaxValues(const DataFileMeta& file) const;

 private:
  /// What the statistics of a file cover, and where each column of the table is among it.
  struct Layout {
    static constexpr int kMissing = -1;  ///< the file's schema has no such column
    static constexpr int kUnknown = -2;  ///< it has, the statistics do not cover it
    std::vector<DataType> types;
    std::vector<int> places;  ///< for fields_
  };

  arrow::Result<std::shared_ptr<const Layout>> LayoutOf(const DataFileMeta& file) const;
  arrow::Result<std::shared_ptr<const Layout>> MakeLayout(const DataFileMeta& file) const;
  arrow::Result<std::string> Bounds(const DataFileMeta& file, const std::string& serialized) const;

  const TableContext& table_;
  std::vector<DataField> fields_;  ///< by name
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Layout>> layouts_;
};

}  // namespace kelda::system_tables
