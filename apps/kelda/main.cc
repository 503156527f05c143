#include <sys/resource.h>

#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "apps/kelda/dot_command.h"
#include "apps/kelda/interrupt.h"
#include "apps/kelda/output.h"
#include "apps/kelda/program_options.h"
#include "apps/kelda/shell.h"
#include "apps/kelda/statement_runner.h"
#include "kelda/base/log.h"
#include "kelda/sql/session/session.h"

namespace kelda::cli {
namespace {

Outcome RunScripts(const ProgramOptions& options, StatementRunner* runner) {
  Outcome outcome = Outcome::kDone;
  for (const Script& script : options.scripts) {
    Outcome one = Outcome::kFailed;
    if (!script.is_file) {
      one = runner->RunScript(script.text, "");
    } else if (auto text = ReadScript(script.text)) {
      one = runner->RunScript(*text, script.text == "-" ? "standard input" : script.text);
    }
    if (one != Outcome::kDone) outcome = one;
    if (one == Outcome::kInterrupted || (one == Outcome::kFailed && !runner->keep_going)) break;
  }
  return outcome;
}

int ExitCode(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return 0;
    case Outcome::kFailed:
      return kExitFailed;
    case Outcome::kInterrupted:
      break;
  }
  return kExitInterrupted;
}

int Run(ProgramOptions options) {
  if (auto level = ParseLogLevel(options.log_level)) Log::SetLevel(*level);
  if (!options.log_file.empty()) {
    arrow::Status opened = Log::SetFile(options.log_file);
    if (!opened.ok()) {
      PrintError(opened.message());
      return kExitUsage;
    }
  }
  sql::SessionOptions session_options;
  session_options.warehouse = options.warehouse;
  session_options.catalog_options = std::move(options.catalog_options);
  session_options.memory_limit = options.memory;
  session_options.threads = options.threads;
  auto session = sql::Session::Open(session_options);
  if (!session.ok()) {
    PrintError(session.status().message());
    return kExitFailed;
  }
  InstallInterruptHandler(session->get());
  Output output(STDOUT_FILENO);
  StatementRunner runner(session->get(), &output);
  runner.format = options.format.value_or(output.is_terminal() ? Format::kBox : Format::kCsv);
  runner.keep_going = options.keep_going;
  runner.progress = options.progress == ProgressMode::kOn ||
                    (options.progress == ProgressMode::kAuto && isatty(STDERR_FILENO) == 1);
  if (options.scripts.empty() && isatty(STDIN_FILENO) == 1) {
    runner.report_changes = true;
    RunShell(&runner);
    return 0;
  }
  if (options.scripts.empty()) options.scripts.push_back({true, "-"});
  return ExitCode(RunScripts(options, &runner));
}

}  // namespace
}  // namespace kelda::cli

/// A statement that writes thousands of partitions has a file open in each; many systems allow 1024
/// unless asked.
static void AllowManyOpenFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char** argv) {
  auto options = kelda::cli::ParseProgramOptions(argc, argv);
  if (int* code = std::get_if<int>(&options)) return *code;
  AllowManyOpenFiles();
  return kelda::cli::Run(std::move(std::get<kelda::cli::ProgramOptions>(options)));
}
