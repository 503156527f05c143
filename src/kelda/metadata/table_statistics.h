#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/scalar.h>
#include <nlohmann/json.hpp>

#include "kelda/base/clock.h"
#include "kelda/io/file_io.h"
#include "kelda/metadata/table_paths.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// What ANALYZE found out about one column.
struct AnalyzedColumn {
  int32_t column_id = 0;
  std::optional<int64_t> distinct_count;
  std::optional<std::string> min;  ///< in the form of StatisticsText
  std::optional<std::string> max;
  std::optional<int64_t> null_count;
  std::optional<int64_t> average_length;
  std::optional<int64_t> max_length;
  nlohmann::ordered_json unknown = nlohmann::ordered_json::object();
};

/// A table statistics file (spec 01 §8.5): what ANALYZE found out about the rows of one snapshot.
/// Plain value; members that this version does not know survive a rewrite.
struct TableStatistics {
  int64_t snapshot_id = 0;
  int64_t schema_id = 0;
  std::optional<int64_t> merged_record_count;
  std::optional<int64_t> merged_record_size;
  std::vector<std::pair<std::string, AnalyzedColumn>> columns;
  nlohmann::ordered_json unknown = nlohmann::ordered_json::object();

  std::string ToJsonText() const;
  /// The object `colStats` alone.
  std::string ColumnsJsonText() const;
  static arrow::Result<TableStatistics> FromJsonText(std::string_view text,
                                                     std::string_view source_name);
};

/// Text of a bound: DATE and TIME are the number that Paimon holds, LTZ is in UTC. nullopt for
/// types that have no bounds in statistics (bytes, nested).
arrow::Result<std::optional<std::string>> StatisticsText(const DataType& type,
                                                         const arrow::Scalar& value);
/// The reverse: a scalar of ToArrowType(type); Invalid for a text that is none of the type.
arrow::Result<std::shared_ptr<arrow::Scalar>> ParseStatisticsText(const DataType& type,
                                                                  std::string_view text);

/// Reads and creates the statistics files of one table. All branches share them. Stateless besides
/// its dependencies; thread-safe.
class StatisticsFiles {
 public:
  StatisticsFiles(std::shared_ptr<FileIO> io, const TablePaths& paths)
      : io_(std::move(io)), dir_(paths.root() + "/statistics") {}

  std::string PathOf(const std::string& name) const { return JoinPath(dir_, name); }
  /// `name` as a snapshot says it.
  arrow::Result<TableStatistics> Read(const std::string& name) const;
  /// Write a new file and return its name, for Snapshot::statistics.
  arrow::Result<std::string> Write(const TableStatistics& statistics, Random& random) const;

 private:
  std::shared_ptr<FileIO> io_;
  std::string dir_;
};

}  // namespace kelda
