#include "apps/kelda/statement_runner.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <duckdb/common/error_data.hpp>

#include "apps/kelda/interrupt.h"
#include "apps/kelda/progress_bar.h"
#include "kelda/sql/parser/lexer.h"

namespace kelda::cli {
namespace {

/// What ends a statement early without an error of its own.
class OutputClosed {};

}  // namespace

void PrintError(std::string_view message) {
  fmt::print(stderr, "error: {}\n", message);
  std::fflush(stderr);
}

Outcome StatementRunner::Fail(const std::string& place, const std::string& message) {
  output_.Flush();
  if (Interrupted()) {
    PrintError(place + "interrupted");
    return Outcome::kInterrupted;
  }
  PrintError(place + message);
  return Outcome::kFailed;
}

Outcome StatementRunner::RunScript(std::string_view script, const std::string& source) {
  sql::SplitScript split = sql::SplitStatements(script);
  if (split.open) split.statements.push_back({split.rest, script.size()});
  Outcome outcome = Outcome::kDone;
  size_t line = 1;
  size_t counted = 0;
  for (const sql::StatementRange& range : split.statements) {
    std::string place;
    if (!source.empty()) {
      line += static_cast<size_t>(
          std::count(script.begin() + counted, script.begin() + range.begin, '\n'));
      counted = range.begin;
      place = fmt::format("{}:{}: ", source, line);
    }
    if (Interrupted()) return Fail(place, "");
    Outcome one =
        RunStatement(std::string(script.substr(range.begin, range.end - range.begin)), place);
    if (one != Outcome::kDone) outcome = one;
    if (one == Outcome::kInterrupted || output_.error() != 0 ||
        (one == Outcome::kFailed && !keep_going))
      break;
  }
  return outcome;
}

Outcome StatementRunner::RunStatement(const std::string& statement, const std::string& place) {
  auto begin = std::chrono::steady_clock::now();
  Outcome outcome = Print(statement, place);
  if (timer) {
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    output_.Write(fmt::format("Run time: {:.3f} s\n", seconds.count()));
  }
  output_.Flush();
  return outcome;
}

Outcome StatementRunner::Print(const std::string& statement, const std::string& place) {
  std::optional<ProgressBar> bar;
  if (progress) {
    session_.context().config.enable_progress_bar = true;
    session_.context().config.print_progress_bar = false;
    bar.emplace(&session_);
  }
  try {
    auto result = session_.Execute(statement, Interrupted);
    if (!result) return Outcome::kDone;
    if (result->HasError()) {
      bar.reset();
      return Fail(place, result->GetErrorObject().Message());
    }
    // A result that still computes gets its bar back by being slow in the first rows only.
    if (result->properties.return_type == duckdb::StatementReturnType::QUERY_RESULT) {
      if (output_.is_terminal()) bar.reset();
      PrintRows(result.get());
    } else if (result->properties.return_type == duckdb::StatementReturnType::CHANGED_ROWS) {
      PrintChanges(result.get());
    } else {
      while (result->Fetch()) {
      }
    }
    bar.reset();
    if (result->HasError()) return Fail(place, result->GetErrorObject().Message());
  } catch (const OutputClosed&) {
    bar.reset();
    // The reader of a pipe that has seen enough is no error of ours.
    if (output_.error() == EPIPE) return Outcome::kFailed;
    return Fail(place, fmt::format("could not write to standard output: {}",
                                   std::strerror(output_.error())));
  } catch (const std::exception& exception) {
    bar.reset();
    return Fail(place, duckdb::ErrorData(exception).Message());
  }
  return Outcome::kDone;
}

void StatementRunner::PrintRows(duckdb::QueryResult* result) {
  bool json = format == Format::kJson || format == Format::kJsonl;
  if (result->statement_type == duckdb::StatementType::EXPLAIN_STATEMENT && !json &&
      result->types.size() == 2) {
    return PrintExplain(result);
  }
  std::unique_ptr<ResultWriter> writer = ResultWriter::Make(format, session_.context(), &output_);
  writer->Begin(result->names, result->types);
  while (auto chunk = result->Fetch()) {
    if (chunk->size() == 0) break;
    writer->Write(*chunk);
    if (output_.error() != 0) throw OutputClosed();
  }
  if (!result->HasError()) writer->End();
  output_.Flush();
  if (output_.error() != 0) throw OutputClosed();
}

/// The plan is a drawing: as it is, not as a value.
void StatementRunner::PrintExplain(duckdb::QueryResult* result) {
  while (auto chunk = result->Fetch()) {
    for (duckdb::idx_t row = 0; row < chunk->size(); ++row) {
      std::string text = chunk->GetValue(1, row).ToString();
      output_.Write(text);
      if (!text.empty() && text.back() != '\n') output_.Write("\n");
    }
  }
}

void StatementRunner::PrintChanges(duckdb::QueryResult* result) {
  while (auto chunk = result->Fetch()) {
    if (chunk->size() == 0) break;
    if (!report_changes) continue;
    std::string count = chunk->GetValue(0, 0).ToString();
    output_.Write(count + (count == "1" ? " row\n" : " rows\n"));
  }
}

}  // namespace kelda::cli
