#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kelda/catalog/schema_change.h"
#include "kelda/metadata/table_context.h"
#include "kelda/types/data_type.h"

namespace kelda {

/// Name of a table, branch or system table inside a catalog (spec 04 §2.1): `table`,
/// `table$branch_b`, `table$files`, `table$branch_b$files`.
struct Identifier {
  std::string database;
  std::string table;
  std::string branch = "main";
  std::string system_table;  ///< "files", "snapshots", …; empty for data

  static arrow::Result<Identifier> Parse(std::string database, std::string_view object_name);
  std::string FullName() const;
};

/// What CREATE TABLE says. Field ids are assigned by the catalog.
struct TableDefinition {
  std::vector<DataField> fields;
  std::vector<std::string> partition_keys;
  std::vector<std::string> primary_keys;
  std::map<std::string, std::string> options;
  std::optional<std::string> comment;
};

/// Databases and tables of one warehouse. Names are case-sensitive. Thread-safe.
class Catalog {
 public:
  virtual ~Catalog() = default;
  virtual const std::string& warehouse() const = 0;
  virtual const Environment& environment() const = 0;
  /// As given when it was opened, with `warehouse`.
  virtual const std::map<std::string, std::string>& options() const = 0;

  virtual arrow::Result<std::vector<std::string>> ListDatabases() = 0;
  virtual arrow::Result<bool> DatabaseExists(const std::string& name) = 0;
  virtual arrow::Status CreateDatabase(const std::string& name, bool ignore_if_exists) = 0;
  virtual arrow::Status DropDatabase(const std::string& name, bool ignore_if_missing,
                                     bool cascade) = 0;

  virtual arrow::Result<std::vector<std::string>> ListTables(const std::string& database) = 0;
  virtual arrow::Result<bool> TableExists(const Identifier& id) = 0;
  /// Warnings (unknown option keys) are appended when `warnings` is not null.
  virtual arrow::Status CreateTable(const Identifier& id, const TableDefinition& definition,
                                    bool ignore_if_exists,
                                    std::vector<std::string>* warnings = nullptr) = 0;
  virtual arrow::Status DropTable(const Identifier& id, bool ignore_if_missing) = 0;
  virtual arrow::Status RenameTable(const Identifier& from, const Identifier& to) = 0;
  virtual arrow::Status AlterTable(const Identifier& id,
                                   const std::vector<SchemaChange>& changes) = 0;

  /// Newest schema of a table or branch, with `dynamic_options` on top of the stored ones (spec 04
  /// §6.4); kNotFound when there is none. `id.system_table` is ignored. Does not check that Kelda
  /// can read or write the table.
  virtual arrow::Result<TableContextPtr> LoadTable(
      const Identifier& id, const std::map<std::string, std::string>& dynamic_options = {}) = 0;
};

/// Catalog over directories (`metastore=filesystem`, spec 04 §2.2). `options`: catalog options;
/// `table-default.*` are added to created tables. The warehouse directory is made if missing, and
/// its database `default` too.
arrow::Result<std::shared_ptr<Catalog>> OpenFileSystemCatalog(
    std::string warehouse, std::map<std::string, std::string> options, Environment env);

/// Rules for new and altered schemas (spec 04 §3.1, §3.2).
arrow::Result<TableSchema> MakeSchema(const TableDefinition& definition, int64_t now_millis);
arrow::Status ValidateSchema(const TableSchema& schema, std::vector<std::string>* warnings);

}  // namespace kelda
