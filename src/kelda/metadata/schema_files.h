#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "kelda/io/file_io.h"
#include "kelda/metadata/table_paths.h"
#include "kelda/types/table_schema.h"

namespace kelda {

using TableSchemaPtr = std::shared_ptr<const TableSchema>;

/// Reads and creates the schema files of one branch of a table (spec 01 §2). Schemas are immutable
/// once written, so they are cached per instance. Thread-safe.
class SchemaFiles {
 public:
  SchemaFiles(std::shared_ptr<FileIO> io, TablePaths paths)
      : io_(std::move(io)), paths_(std::move(paths)) {}

  arrow::Result<std::vector<int64_t>> ListIds() const;
  arrow::Result<std::optional<int64_t>> LatestId() const;
  arrow::Result<TableSchemaPtr> Read(int64_t id) const;
  /// nullopt-like null pointer when the table does not exist.
  arrow::Result<TableSchemaPtr> Latest() const;

  /// Publish `schema` as schema-<schema.id>; false when that id is taken by somebody else.
  arrow::Result<bool> TryCreate(const TableSchema& schema) const;
  /// Apply `change` to the newest schema until the result could be published (spec 01 §2.3: a lost
  /// race is retried on the new latest). `change` edits a copy whose id is already advanced.
  arrow::Result<TableSchemaPtr> Alter(
      const std::function<arrow::Status(TableSchema* schema)>& change) const;

 private:
  std::shared_ptr<FileIO> io_;
  TablePaths paths_;
  mutable std::mutex mutex_;
  mutable std::map<int64_t, TableSchemaPtr> cache_;
};

}  // namespace kelda
