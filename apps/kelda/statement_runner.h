#pragma once

#include <string>
#include <string_view>

#include "apps/kelda/output.h"
#include "apps/kelda/result_writer.h"
#include "kelda/sql/session/session.h"

namespace kelda::cli {

enum class Outcome { kDone, kFailed, kInterrupted };

/// Runs statements one after the other and prints what they give: rows to `output`, errors to
/// standard error.
class StatementRunner {
 public:
  StatementRunner(sql::Session* session, Output* output) : session_(*session), output_(*output) {}

  Format format = Format::kCsv;
  bool keep_going = false;
  bool progress = false;
  /// Print how long each statement took.
  bool timer = false;
  /// Say how many rows a statement has changed.
  bool report_changes = false;

  /// All statements of `script`, up to the first error unless keep_going. `source` is the name of
  /// the file that errors name with the line; empty: none.
  Outcome RunScript(std::string_view script, const std::string& source);
  /// One statement without its semicolon.
  Outcome RunStatement(const std::string& statement, const std::string& place = "");

  sql::Session& session() { return session_; }
  Output& output() { return output_; }

 private:
  Outcome Print(const std::string& statement, const std::string& place);
  Outcome Fail(const std::string& place, const std::string& message);
  void PrintRows(duckdb::QueryResult* result);
  void PrintExplain(duckdb::QueryResult* result);
  void PrintChanges(duckdb::QueryResult* result);

  sql::Session& session_;
  Output& output_;
};

/// `error: ` and the text on standard error.
void PrintError(std::string_view message);

}  // namespace kelda::cli
