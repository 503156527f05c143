#include "kelda/sql/session/session.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

#include <duckdb/common/error_data.hpp>
#include <duckdb/main/config.hpp>
#include <duckdb/main/pending_query_result.hpp>
#include <duckdb/parser/parsed_data/attach_info.hpp>
#include <duckdb/parser/statement/attach_statement.hpp>

#include "kelda/base/memory_budget.h"
#include "kelda/base/status.h"
#include "kelda/sql/parser/front_parser.h"
#include "kelda/sql/register.h"
#include "kelda/sql/session/show_create_table.h"
#include "kelda/sql/session/show_tables.h"

namespace kelda::sql {
namespace {

/// DuckDB's C++ interface changes with every patch release: another library would fail in ways that
/// nobody understands.
arrow::Status CheckLibrary() {
  const std::string version = duckdb::DuckDB::LibraryVersion();
  const std::string source = duckdb::DuckDB::SourceID();
  if (version == "v" KELDA_DUCKDB_VERSION && source == KELDA_DUCKDB_SOURCE_ID)
    return arrow::Status::OK();
  return Invalid(
      "libduckdb.so is version {} ({}), but Kelda was built for v{} ({}): put the library that "
      "Kelda came with first on "
      "the library path",
      version, source, KELDA_DUCKDB_VERSION, KELDA_DUCKDB_SOURCE_ID);
}

std::string DefaultTempDirectory() {
  static std::atomic<int> count{0};
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  return (folder / fmt::format("kelda-{}-{}", getpid(), count++)).string();
}

void Configure(const SessionOptions& options, duckdb::DBConfig* config) {
  // SQL and engine have a half each. Without a limit the budget of the process, which others may
  // share, stays as it is, and SQL has as much as half of it.
  int64_t half = MemoryBudget::Process()->limit() / 2;
  if (!options.memory_limit.empty()) {
    half = static_cast<int64_t>(duckdb::DBConfig::ParseMemoryLimit(options.memory_limit)) / 2;
    MemoryBudget::Process()->SetLimit(half);
  }
  config->options.maximum_memory = static_cast<duckdb::idx_t>(half);
  if (options.threads > 0)
    config->options.maximum_threads = static_cast<duckdb::idx_t>(options.threads);
  config->options.temporary_directory =
      options.temp_directory.empty() ? DefaultTempDirectory() : options.temp_directory;
  // An unknown name must not make DuckDB look for a library in the user's home, or in the network.
  config->SetOptionByName("autoload_known_extensions", duckdb::Value::BOOLEAN(false));
  config->SetOptionByName("autoinstall_known_extensions", duckdb::Value::BOOLEAN(false));
  RegisterFrontParser(*config);
}

}  // namespace

arrow::Result<std::unique_ptr<Session>> Session::Open(const SessionOptions& options) {
  ARROW_RETURN_NOT_OK(CheckLibrary());
  std::unique_ptr<Session> session(new Session());
  try {
    duckdb::DBConfig config;
    Configure(options, &config);
    session->database_ = std::make_unique<duckdb::DuckDB>(nullptr, &config);
    RegisterPaimon(session->database());
    RegisterShowCreateTable(session->database());
    RegisterShowTables(session->database());
    session->connection_ = std::make_unique<duckdb::Connection>(*session->database_);
    if (!options.warehouse.empty()) session->Attach(options);
  } catch (const std::exception& exception) {
    return Invalid("{}", duckdb::ErrorData(exception).Message());
  }
  return session;
}

void Session::Attach(const SessionOptions& options) {
  auto info = duckdb::make_uniq<duckdb::AttachInfo>();
  info->name = "paimon";
  info->path = options.warehouse;
  info->options["type"] = duckdb::Value("paimon");
  for (const auto& [key, value] : options.catalog_options)
    info->options[key] = duckdb::Value(value);
  auto statement = duckdb::make_uniq<duckdb::AttachStatement>();
  statement->info = std::move(info);
  auto attached = connection_->Query(std::move(statement));
  if (attached->HasError()) attached->ThrowError();
  auto used = connection_->Query("USE paimon.\"default\"");
  if (used->HasError()) used->ThrowError();
}

duckdb::unique_ptr<duckdb::QueryResult> Session::Execute(const std::string& statement,
                                                         bool (*cancelled)()) {
  auto failed = [&](const std::exception& exception) {
    duckdb::ErrorData error(exception);
    error.AddErrorLocation(statement);
    return duckdb::make_uniq<duckdb::MaterializedQueryResult>(std::move(error));
  };
  try {
    auto statements = connection_->ExtractStatements(statement);
    duckdb::unique_ptr<duckdb::QueryResult> result;
    // A pragma or PIVOT may become several statements; the last one has the result.
    for (auto& each : statements) {
      auto pending = connection_->PendingQuery(std::move(each),
                                               duckdb::QueryResultOutputType::ALLOW_STREAMING);
      // The start of a query forgets earlier interrupts.
      if (cancelled != nullptr && cancelled()) connection_->Interrupt();
      while (!pending->HasError()) {
        duckdb::PendingExecutionResult state = pending->ExecuteTask();
        if (duckdb::PendingQueryResult::IsResultReady(state)) break;
        if (state == duckdb::PendingExecutionResult::BLOCKED) pending->WaitForTask();
        if (state == duckdb::PendingExecutionResult::NO_TASKS_AVAILABLE) {
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
      }
      if (pending->HasError()) {
        return duckdb::make_uniq<duckdb::MaterializedQueryResult>(pending->GetErrorObject());
      }
      result.reset();
      result = pending->Execute();
      if (result->HasError()) return result;
    }
    return result;
  } catch (const std::exception& exception) {
    return failed(exception);
  }
}

}  // namespace kelda::sql
