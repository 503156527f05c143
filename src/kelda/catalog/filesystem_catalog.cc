#include <algorithm>

#include "kelda/catalog/catalog.h"
#include "kelda/catalog/schema_changes.h"
#include "kelda/options/validate.h"

namespace kelda {

namespace {

constexpr std::string_view kDatabaseSuffix = ".db";
constexpr std::string_view kTableDefaultPrefix = "table-default.";
constexpr int64_t kManifestCacheBytes = 128 << 20;

/// Names become directories: one with a separator or a leading dot would escape or hide.
arrow::Status CheckName(std::string_view what, const std::string& name) {
  if (name.empty()) return Invalid("a {} needs a name", what);
  if (name.find('/') != std::string::npos || name.find('\0') != std::string::npos ||
      name[0] == '.') {
    return Invalid("'{}' cannot be the name of a {}", name, what);
  }
  return arrow::Status::OK();
}

class FileSystemCatalog : public Catalog {
 public:
  FileSystemCatalog(std::string warehouse, std::map<std::string, std::string> options,
                    std::map<std::string, std::string> table_defaults, Environment env)
      : warehouse_(std::move(warehouse)),
        options_(std::move(options)),
        table_defaults_(std::move(table_defaults)),
        env_(std::move(env)) {
    options_["warehouse"] = warehouse_;
  }

  const std::string& warehouse() const override { return warehouse_; }
  const Environment& environment() const override { return env_; }
  const std::map<std::string, std::string>& options() const override { return options_; }

  arrow::Result<std::vector<std::string>> ListDatabases() override {
    ARROW_ASSIGN_OR_RAISE(auto children, env_.io->List(warehouse_));
    std::vector<std::string> names;
    for (const FileInfo& child : children) {
      if (child.is_dir && child.name.ends_with(kDatabaseSuffix) &&
          child.name.size() > kDatabaseSuffix.size()) {
        names.push_back(child.name.substr(0, child.name.size() - kDatabaseSuffix.size()));
      }
    }
    return names;
  }

  arrow::Result<bool> DatabaseExists(const std::string& name) override {
    if (!CheckName("database", name).ok()) return false;
    auto info = env_.io->Stat(DatabasePath(name));
    if (info.ok()) return info->is_dir;
    if (IsNotFound(info.status())) return false;
    return info.status();
  }

  arrow::Status CreateDatabase(const std::string& name, bool ignore_if_exists) override {
    ARROW_RETURN_NOT_OK(CheckName("database", name));
    if (name == "sys") return Invalid("database 'sys' is reserved");
    ARROW_ASSIGN_OR_RAISE(bool exists, DatabaseExists(name));
    if (exists) {
      return ignore_if_exists ? arrow::Status::OK() : AlreadyExists("database '{}' exists", name);
    }
    return env_.io->MakeDirs(DatabasePath(name));
  }

  arrow::Status DropDatabase(const std::string& name, bool ignore_if_missing,
                             bool cascade) override {
    if (name == "sys") return Invalid("database 'sys' is reserved");
    ARROW_ASSIGN_OR_RAISE(bool exists, DatabaseExists(name));
    if (!exists) {
      return ignore_if_missing ? arrow::Status::OK()
                               : NotFound("database '{}' does not exist", name);
    }
    ARROW_ASSIGN_OR_RAISE(auto tables, ListTables(name));
    if (!tables.empty() && !cascade) {
      return Invalid(
          "database '{}' is not empty: it has table '{}'{}; drop them first, or use CASCADE", name,
          tables[0], tables.size() > 1 ? fmt::format(" and {} more", tables.size() - 1) : "");
    }
    return env_.io->DeleteDir(DatabasePath(name));
  }

  arrow::Result<std::vector<std::string>> ListTables(const std::string& database) override {
    ARROW_ASSIGN_OR_RAISE(bool exists, DatabaseExists(database));
    if (!exists) return NotFound("database '{}' does not exist", database);
    ARROW_ASSIGN_OR_RAISE(auto children, env_.io->List(DatabasePath(database)));
    std::vector<std::string> names;
    for (const FileInfo& child : children) {
      if (!child.is_dir || child.name[0] == '.') continue;
      ARROW_ASSIGN_OR_RAISE(bool is_table, HasSchema(child.path));
      if (is_table) names.push_back(child.name);
    }
    return names;
  }

  arrow::Result<bool> TableExists(const Identifier& id) override {
    for (const auto& [what, name] :
         {std::pair("database", &id.database), std::pair("table", &id.table),
          std::pair("branch", &id.branch)}) {
      if (!CheckName(what, *name).ok()) return false;
    }
    return HasSchema(TablePaths(TablePath(id), id.branch).branch_root());
  }

  arrow::Status CreateTable(const Identifier& id, const TableDefinition& definition,
                            bool ignore_if_exists, std::vector<std::string>* warnings) override {
    ARROW_RETURN_NOT_OK(CheckPlainName(id));
    ARROW_ASSIGN_OR_RAISE(bool database_exists, DatabaseExists(id.database));
    if (!database_exists)
      return NotFound("database '{}' does not exist; create it first", id.database);
    ARROW_ASSIGN_OR_RAISE(bool exists, TableExists(id));
    if (exists) {
      return ignore_if_exists ? arrow::Status::OK()
                              : AlreadyExists("table {} exists", id.FullName());
    }
    TableDefinition with_defaults = definition;
    for (const auto& [key, value] : table_defaults_) with_defaults.options.emplace(key, value);
    // The place of a table is decided by the catalog; a stored path would lie after a rename (spec
    // 04 §2.2).
    if (with_defaults.options.contains("path")) {
      return Unsupported("table {}: option 'path' (external tables)", id.FullName());
    }
    auto schema = MakeSchema(with_defaults, env_.clock->NowMillis());
    if (!schema.ok()) return WithContext(schema.status(), "table " + id.FullName());
    ARROW_RETURN_NOT_OK(WithContext(ValidateSchema(*schema, warnings), "table " + id.FullName()));
    SchemaFiles schemas(env_.io, TablePaths(TablePath(id)));
    ARROW_ASSIGN_OR_RAISE(bool created, schemas.TryCreate(*schema));
    if (created || ignore_if_exists) return arrow::Status::OK();
    return AlreadyExists("table {} exists: it was created by somebody else just now",
                         id.FullName());
  }

  arrow::Status DropTable(const Identifier& id, bool ignore_if_missing) override {
    ARROW_RETURN_NOT_OK(CheckPlainName(id));
    ARROW_ASSIGN_OR_RAISE(bool exists, TableExists(id));
    if (!exists) {
      return ignore_if_missing ? arrow::Status::OK()
                               : NotFound("table {} does not exist", id.FullName());
    }
    return env_.io->DeleteDir(TablePath(id));
  }

  arrow::Status RenameTable(const Identifier& from, const Identifier& to) override {
    ARROW_RETURN_NOT_OK(CheckPlainName(from));
    ARROW_RETURN_NOT_OK(CheckPlainName(to));
    ARROW_ASSIGN_OR_RAISE(bool from_exists, TableExists(from));
    if (!from_exists) return NotFound("table {} does not exist", from.FullName());
    ARROW_ASSIGN_OR_RAISE(bool database_exists, DatabaseExists(to.database));
    if (!database_exists) return NotFound("database '{}' does not exist", to.database);
    ARROW_ASSIGN_OR_RAISE(bool to_exists, TableExists(to));
    if (to_exists) return AlreadyExists("table {} exists", to.FullName());
    return env_.io->Rename(TablePath(from), TablePath(to));
  }

  arrow::Status AlterTable(const Identifier& id,
                           const std::vector<SchemaChange>& changes) override {
    if (!id.system_table.empty())
      return Invalid("{} is a system table and cannot be altered", id.FullName());
    ARROW_ASSIGN_OR_RAISE(auto table, LoadTable(id, {}));
    ARROW_ASSIGN_OR_RAISE(auto latest, table->snapshots->LatestId());
    auto altered = table->schemas->Alter([&](TableSchema* schema) -> arrow::Status {
      for (const SchemaChange& change : changes) {
        ARROW_RETURN_NOT_OK(ApplySchemaChange(change, latest.has_value(), schema));
      }
      schema->time_millis = env_.clock->NowMillis();
      return ValidateSchema(*schema, nullptr);
    });
    return WithContext(altered.status(), "table " + id.FullName());
  }

  arrow::Result<TableContextPtr> LoadTable(
      const Identifier& id, const std::map<std::string, std::string>& dynamic_options) override {
    ARROW_ASSIGN_OR_RAISE(bool exists, TableExists(id));
    if (!exists) {
      Identifier plain = id;
      plain.system_table.clear();
      return NotFound("table {} does not exist", plain.FullName());
    }
    Identifier plain = id;
    plain.system_table.clear();
    return TableContext::Load(env_, plain.FullName(), TablePath(id), id.branch, dynamic_options);
  }

 private:
  std::string DatabasePath(const std::string& name) const {
    return fmt::format("{}/{}{}", warehouse_, name, kDatabaseSuffix);
  }
  std::string TablePath(const Identifier& id) const {
    return DatabasePath(id.database) + "/" + id.table;
  }

  arrow::Result<bool> HasSchema(const std::string& root) const {
    ARROW_ASSIGN_OR_RAISE(bool first, env_.io->Exists(root + "/schema/schema-0"));
    if (first) return true;
    ARROW_ASSIGN_OR_RAISE(auto files, env_.io->List(root + "/schema"));
    return std::any_of(files.begin(), files.end(),
                       [](const FileInfo& f) { return f.name.starts_with("schema-"); });
  }

  static arrow::Status CheckPlainName(const Identifier& id) {
    ARROW_RETURN_NOT_OK(CheckName("database", id.database));
    ARROW_RETURN_NOT_OK(CheckName("table", id.table));
    if (id.branch != "main" || !id.system_table.empty() ||
        id.table.find('$') != std::string::npos) {
      return Invalid(
          "{}: a branch or system table cannot be created, dropped or renamed as a table",
          id.FullName());
    }
    if (id.database == "sys") return Invalid("database 'sys' is reserved");
    return arrow::Status::OK();
  }

  const std::string warehouse_;
  std::map<std::string, std::string> options_;
  const std::map<std::string, std::string> table_defaults_;
  const Environment env_;
};

}  // namespace

arrow::Result<std::shared_ptr<Catalog>> OpenFileSystemCatalog(
    std::string warehouse, std::map<std::string, std::string> options, Environment env) {
  while (warehouse.size() > 1 && warehouse.back() == '/') warehouse.pop_back();
  if (warehouse.starts_with("file:")) {
    warehouse.erase(0, 5);
    if (warehouse.starts_with("//")) warehouse.erase(0, 2);
  }
  if (warehouse.empty()) return Invalid("a warehouse needs a path");
  if (const size_t scheme = warehouse.find("://"); scheme != std::string::npos) {
    return Unsupported("warehouse '{}': file system '{}'", warehouse, warehouse.substr(0, scheme));
  }
  ARROW_RETURN_NOT_OK(CheckCatalogOptions(options, nullptr));
  std::map<std::string, std::string> defaults;
  for (const auto& [key, value] : options) {
    if (key.starts_with(kTableDefaultPrefix))
      defaults[key.substr(kTableDefaultPrefix.size())] = value;
  }
  if (env.io == nullptr) env.io = MakeLocalFileIO();
  if (env.manifest_cache == nullptr) {
    env.manifest_cache = std::make_shared<ManifestCache>(kManifestCacheBytes, env.budget);
  }
  ARROW_RETURN_NOT_OK(env.io->MakeDirs(warehouse));
  auto catalog = std::make_shared<FileSystemCatalog>(std::move(warehouse), std::move(options),
                                                     std::move(defaults), std::move(env));
  ARROW_RETURN_NOT_OK(catalog->CreateDatabase("default", /*ignore_if_exists=*/true));
  return catalog;
}

}  // namespace kelda
