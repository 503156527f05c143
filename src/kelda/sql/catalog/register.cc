#include "kelda/sql/register.h"

#include "duckdb/main/attached_database.hpp"
#include "duckdb/main/config.hpp"
#include "duckdb/main/database.hpp"
#include "duckdb/parser/parsed_data/attach_info.hpp"
#include "duckdb/storage/storage_extension.hpp"

#include "kelda/io/file_io.h"
#include "kelda/options/validate.h"
#include "kelda/sql/catalog/paimon_catalog.h"
#include "kelda/sql/functions/analyze.h"
#include "kelda/sql/functions/options_function.h"
#include "kelda/sql/scan/register_scan.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

/// Opening a warehouse makes its folder; READ_ONLY must not.
void RequireExistingFolder(std::string path) {
  if (path.starts_with("file:")) path.erase(0, 5);
  if (path.starts_with("//")) path.erase(0, 2);
  if (path.empty() || path.find("://") != std::string::npos) return;
  if (!ValueOrThrow(MakeLocalFileIO()->Exists(path)))
    throw duckdb::IOException(fmt::format("warehouse '{}' does not exist", path));
}

duckdb::unique_ptr<duckdb::Catalog> Attach(duckdb::optional_ptr<duckdb::StorageExtensionInfo>,
                                           duckdb::ClientContext&, duckdb::AttachedDatabase& db,
                                           const std::string&, duckdb::AttachInfo& info,
                                           duckdb::AttachOptions& options) {
  std::map<std::string, std::string> catalog_options;
  for (const auto& [key, value] : options.options) {
    if (value.IsNull()) ThrowError(Invalid("ATTACH: option '{}' is NULL", key));
    catalog_options[key] = value.ToString();
  }
  std::vector<std::string> warnings;
  ThrowIfError(CheckCatalogOptions(catalog_options, &warnings));
  if (!warnings.empty()) ThrowError(Invalid("ATTACH: {}", warnings[0]));
  if (options.access_mode == duckdb::AccessMode::READ_ONLY) RequireExistingFolder(info.path);
  auto core =
      ValueOrThrow(OpenFileSystemCatalog(info.path, std::move(catalog_options), Environment()));
  return duckdb::make_uniq<PaimonCatalog>(db, std::move(core));
}

duckdb::unique_ptr<duckdb::TransactionManager> CreateTransactionManager(
    duckdb::optional_ptr<duckdb::StorageExtensionInfo>, duckdb::AttachedDatabase& db,
    duckdb::Catalog& catalog) {
  return duckdb::make_uniq<PaimonTransactionManager>(db,
                                                     catalog.Cast<PaimonCatalog>().shared_core());
}

}  // namespace

void RegisterPaimon(duckdb::DatabaseInstance& database) {
  auto extension = duckdb::make_shared_ptr<duckdb::StorageExtension>();
  extension->attach = Attach;
  extension->create_transaction_manager = CreateTransactionManager;
  duckdb::StorageExtension::Register(duckdb::DBConfig::GetConfig(database), "paimon",
                                     std::move(extension));
  RegisterScanFunctions(database);
  RegisterOptionsFunction(database);
  RegisterAnalyze(database);
}

}  // namespace kelda::sql
