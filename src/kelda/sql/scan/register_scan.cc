#include "kelda/sql/scan/register_scan.h"

#include <filesystem>

#include "duckdb/main/config.hpp"
#include "duckdb/main/database.hpp"
#include "duckdb/main/extension/extension_loader.hpp"

#include "kelda/scan/plan.h"
#include "kelda/sql/scan/paimon_scan.h"
#include "kelda/sql/scan/scan_data.h"
#include "kelda/sql/types/status_exception.h"

namespace kelda::sql {

namespace {

/// "database.table" of a table directory `.../database.db/table`.
std::string TableName(const std::string& root) {
  const std::string database(BaseName(ParentPath(root)));
  const std::string table(BaseName(root));
  if (!database.ends_with(".db")) return table;
  return database.substr(0, database.size() - 3) + "." + table;
}

duckdb::unique_ptr<duckdb::FunctionData> BindKeldaScan(duckdb::ClientContext&,
                                                       duckdb::TableFunctionBindInput& input,
                                                       duckdb::vector<duckdb::LogicalType>& types,
                                                       duckdb::vector<std::string>& names) {
  if (input.inputs[0].IsNull()) throw duckdb::BinderException("kelda_scan: the path is NULL");
  std::error_code error;
  std::string root = std::filesystem::absolute(duckdb::StringValue::Get(input.inputs[0]), error)
                         .lexically_normal()
                         .string();
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  std::map<std::string, std::string> options;
  if (auto it = input.named_parameters.find("snapshot_id"); it != input.named_parameters.end())
    options["scan.snapshot-id"] = it->second.ToString();
  Environment environment;
  environment.io = MakeLocalFileIO();
  auto table =
      ValueOrThrow(TableContext::Load(environment, TableName(root), root, "main", options));
  ThrowIfError(table->CheckReadable());
  auto snapshot = ValueOrThrow(ResolveSnapshot(*table));
  table = ValueOrThrow(ContextForSnapshot(table, snapshot));
  auto data = BindPaimonScan(std::move(table), std::move(snapshot));
  types = data->Cast<ScanData>().types();
  names = data->Cast<ScanData>().names();
  return data;
}

}  // namespace

void RegisterScanFunctions(duckdb::DatabaseInstance& database) {
  auto& config = duckdb::DBConfig::GetConfig(database);
  config.AddExtensionOption("kelda_disable_pruning",
                            "read all partitions, files and row groups of Paimon tables",
                            duckdb::LogicalType::BOOLEAN, duckdb::Value::BOOLEAN(false));
  config.AddExtensionOption("kelda_duckdb_parquet",
                            "read Parquet files of Paimon tables with DuckDB's reader where it is "
                            "exact",
                            duckdb::LogicalType::BOOLEAN, duckdb::Value::BOOLEAN(true));
  config.AddExtensionOption("kelda_verify_checksums",
                            "read Parquet files of Paimon tables with Kelda's reader, which checks "
                            "every page against its checksum; DuckDB's does not",
                            duckdb::LogicalType::BOOLEAN, duckdb::Value::BOOLEAN(false));
  duckdb::TableFunction function = MakePaimonScan();
  function.name = "kelda_scan";
  function.arguments = {duckdb::LogicalType::VARCHAR};
  function.bind = BindKeldaScan;
  function.named_parameters["snapshot_id"] = duckdb::LogicalType::BIGINT;
  duckdb::ExtensionLoader loader(database, "kelda_scan");
  loader.RegisterFunction(function);
}

}  // namespace kelda::sql
