#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/result.h>

#include <duckdb/main/connection.hpp>
#include <duckdb/main/database.hpp>
#include <duckdb/main/query_result.hpp>

namespace kelda::sql {

struct SessionOptions {
  /// Path or URI of a warehouse, attached as the catalog `paimon`; empty: none.
  std::string warehouse;
  /// Options of that catalog.
  std::vector<std::pair<std::string, std::string>> catalog_options;
  /// `2GB`, `512MiB` ...: a half is DuckDB's memory_limit, the other the budget of the engine.
  /// Empty: MemoryBudget::Process stays as it is, 70 % of the machine, and DuckDB has a half of
  /// that.
  std::string memory_limit;
  /// 0: all cores.
  int threads = 0;
  /// Where what does not fit into memory goes; empty: a folder of this process in the system's
  /// folder for temporary files, made when needed and removed at the end.
  std::string temp_directory;
};

/// An in-memory DuckDB database with Kelda's front parser and storage extension, and one connection
/// to it. One thread at a time, except Interrupt.
class Session {
 public:
  static arrow::Result<std::unique_ptr<Session>> Open(const SessionOptions& options);

  duckdb::Connection& connection() { return *connection_; }
  duckdb::ClientContext& context() { return *connection_->context; }
  duckdb::DatabaseInstance& database() { return *database_->instance; }

  /// Start one statement and work until its first rows are there, or until it is done if it gives
  /// none. The result streams: the rest of the work happens in its Fetch. An error of any kind is
  /// in the result. Empty text gives nullptr. `cancelled` may be asked whether an Interrupt came
  /// before the statement could take notice.
  duckdb::unique_ptr<duckdb::QueryResult> Execute(const std::string& statement,
                                                  bool (*cancelled)() = nullptr);

  /// Have the running statement end with an error; no effect on later ones. Thread-safe, and safe
  /// in a signal handler.
  void Interrupt() { connection_->Interrupt(); }

 private:
  Session() = default;
  void Attach(const SessionOptions& options);

  std::unique_ptr<duckdb::DuckDB> database_;
  std::unique_ptr<duckdb::Connection> connection_;
};

}  // namespace kelda::sql
