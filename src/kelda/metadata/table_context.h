#pragma once

#include <memory>
#include <string>

#include "kelda/base/clock.h"
#include "kelda/base/executor.h"
#include "kelda/base/memory_budget.h"
#include "kelda/io/file_io.h"
#include "kelda/metadata/manifest.h"
#include "kelda/metadata/manifest_cache.h"
#include "kelda/metadata/schema_files.h"
#include "kelda/metadata/snapshot_files.h"
#include "kelda/metadata/table_paths.h"
#include "kelda/options/options.h"
#include "kelda/row/partition_path.h"
#include "kelda/types/table_schema.h"

namespace kelda {

/// What the process lends to every table: replaceable in tests.
struct Environment {
  std::shared_ptr<FileIO> io;
  std::shared_ptr<Clock> clock = Clock::System();
  std::shared_ptr<Random> random = Random::System();
  std::shared_ptr<Executor> executor = Executor::Process();
  std::shared_ptr<MemoryBudget> budget = MemoryBudget::Process();
  std::shared_ptr<ManifestCache> manifest_cache;  ///< null: none
};

/// One table at one schema version, with the options in force (the schema's, overlaid by dynamic
/// ones). Immutable; share as shared_ptr<const TableContext>; thread-safe.
struct TableContext {
  std::string name;  ///< "database.table", for messages
  Environment env;
  TablePaths paths{""};
  TableSchemaPtr schema;
  Options options;
  std::shared_ptr<SchemaFiles> schemas;
  std::shared_ptr<SnapshotFiles> snapshots;
  PartitionPathOptions partition_path_options;

  /// Build a context for the table at `root`; `schema` null = newest. Fails with kNotFound when
  /// there is no schema file.
  static arrow::Result<std::shared_ptr<const TableContext>> Load(
      const Environment& env, std::string name, std::string root,
      const std::string& branch = "main",
      const std::map<std::string, std::string>& dynamic_options = {},
      TableSchemaPtr schema = nullptr);
  /// The same table seen with another schema version (time travel: spec 04 §3.4).
  arrow::Result<std::shared_ptr<const TableContext>> WithSchema(int64_t schema_id) const;

  const std::vector<DataField>& fields() const { return schema->fields; }
  std::vector<DataField> PartitionFields() const { return schema->PartitionFields(); }
  std::vector<DataType> PartitionTypes() const;
  ManifestReader manifests() const { return ManifestReader(env.io, paths, env.manifest_cache); }
  bool partitioned() const { return !schema->partition_keys.empty(); }
  /// Refuse by name what this version cannot do with the table: options first, then table kind
  /// (primary keys, buckets). Warnings (unknown keys) are appended.
  arrow::Status CheckReadable(std::vector<std::string>* warnings = nullptr) const;
  arrow::Status CheckWritable(std::vector<std::string>* warnings = nullptr) const;
};
using TableContextPtr = std::shared_ptr<const TableContext>;

/// Values of a serialized partition row, one per partition key.
arrow::Result<std::vector<std::shared_ptr<arrow::Scalar>>> DecodePartition(
    const std::vector<DataType>& types, std::string_view serialized, std::string_view source);

}  // namespace kelda
