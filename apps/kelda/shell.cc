#include "apps/kelda/shell.h"

#include <histedit.h>
#include <strings.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "apps/kelda/dot_command.h"
#include "apps/kelda/interrupt.h"
#include "kelda/sql/parser/lexer.h"

namespace kelda::cli {
namespace {

constexpr int kHistoryMax = 2000;

struct EndEditLine {
  void operator()(EditLine* edit) const { el_end(edit); }
};
struct EndHistory {
  void operator()(History* history) const { history_end(history); }
};

/// What libedit calls back finds its shell in the client data of the line.
class Shell {
 public:
  explicit Shell(StatementRunner* runner) : runner_(*runner) {}

  bool Open();
  void Run();

 private:
  static Shell& Of(EditLine* edit) {
    void* shell = nullptr;
    el_get(edit, EL_CLIENTDATA, &shell);
    return *static_cast<Shell*>(shell);
  }
  static char* Prompt(EditLine* edit) { return Of(edit).prompt_.data(); }
  static unsigned char OnInterrupt(EditLine* edit, int);
  static unsigned char OnComplete(EditLine* edit, int);

  bool ReadLine(std::string* line);
  /// False: the shell is to end.
  bool Take(const std::string& line);
  void RunComplete();
  unsigned char Complete();
  std::vector<std::string> Suggestions(const std::string& text, size_t* start);
  void Remember(const std::string& text);
  std::string HistoryPath() const;

  StatementRunner& runner_;
  std::unique_ptr<History, EndHistory> history_;
  std::unique_ptr<EditLine, EndEditLine> edit_;
  std::string prompt_;
  std::string pending_;  ///< of a statement that misses its semicolon
  bool cancelled_ = false;
};

bool Shell::Open() {
  history_.reset(history_init());
  edit_.reset(el_init("kelda", stdin, stdout, stderr));
  if (!history_ || !edit_) return false;
  HistEvent event;
  history(history_.get(), &event, H_SETSIZE, kHistoryMax);
  history(history_.get(), &event, H_SETUNIQUE, 1);
  std::string path = HistoryPath();
  if (!path.empty()) history(history_.get(), &event, H_LOAD, path.c_str());
  el_set(edit_.get(), EL_CLIENTDATA, this);
  el_set(edit_.get(), EL_PROMPT, Prompt);
  el_set(edit_.get(), EL_EDITOR, "emacs");
  el_set(edit_.get(), EL_HIST, history, history_.get());
  el_set(edit_.get(), EL_ADDFN, "kelda-complete", "Complete", OnComplete);
  el_set(edit_.get(), EL_BIND, "^I", "kelda-complete", nullptr);
  el_set(edit_.get(), EL_ADDFN, "kelda-cancel", "Drop the statement", OnInterrupt);
  el_set(edit_.get(), EL_BIND, "^C", "kelda-cancel", nullptr);
  el_set(edit_.get(), EL_BIND, "^R", "em-inc-search-prev", nullptr);
  // While a line is edited Ctrl-C is a key; while a statement runs it is the signal.
  el_set(edit_.get(), EL_SETTY, "-d", "-isig", nullptr);
  el_source(edit_.get(), nullptr);
  return true;
}

std::string Shell::HistoryPath() const {
  const char* home = std::getenv("HOME");
  return home != nullptr ? std::string(home) + "/.kelda_history" : "";
}

unsigned char Shell::OnInterrupt(EditLine* edit, int) {
  Of(edit).cancelled_ = true;
  return CC_NEWLINE;
}

bool Shell::ReadLine(std::string* line) {
  prompt_ = pending_.empty() ? "kelda> " : "   ...> ";
  cancelled_ = false;
  int length = 0;
  const char* text = el_gets(edit_.get(), &length);
  ClearInterrupt();
  if (cancelled_) {
    el_reset(edit_.get());
    pending_.clear();
    line->clear();
    fmt::print("^C\n");
    std::fflush(stdout);
    return true;
  }
  if (text == nullptr || length <= 0) {
    fmt::print("\n");
    return false;
  }
  line->assign(text, static_cast<size_t>(length));
  return true;
}

void Shell::Run() {
  std::string line;
  while (ReadLine(&line)) {
    if (!Take(line)) break;
  }
  if (!pending_.empty()) PrintError("the last statement has no ; at its end and was not run");
}

bool Shell::Take(const std::string& line) {
  size_t first = line.find_first_not_of(" \t\r\n");
  if (pending_.empty()) {
    if (first == std::string::npos) return true;
    if (line[first] == '.') {
      Remember(line);
      bool go_on = RunDotCommand(std::string_view(line).substr(first), &runner_);
      ClearInterrupt();
      return go_on;
    }
  }
  pending_ += line;
  RunComplete();
  return true;
}

/// Runs the statements of pending_ that have their semicolon.
void Shell::RunComplete() {
  sql::SplitScript split = sql::SplitStatements(pending_);
  if (split.statements.empty()) {
    if (!split.open) pending_.clear();
    return;
  }
  std::string text = pending_.substr(0, split.open ? split.rest : pending_.size());
  std::string rest = split.open ? pending_.substr(split.rest) : "";
  pending_ = std::move(rest);
  Remember(text);
  ClearInterrupt();
  runner_.RunScript(text, "");
  ClearInterrupt();
}

void Shell::Remember(const std::string& text) {
  std::string entry = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (entry.empty()) return;
  HistEvent event;
  history(history_.get(), &event, H_ENTER, entry.c_str());
  std::string path = HistoryPath();
  if (path.empty()) return;
  // Statements may hold secrets: the file is for its owner alone.
  mode_t mask = umask(077);
  history(history_.get(), &event, H_SAVE, path.c_str());
  umask(mask);
}

std::vector<std::string> Shell::Suggestions(const std::string& text, size_t* start) {
  std::vector<std::string> out;
  auto result =
      runner_.session().Execute("SELECT suggestion, suggestion_start FROM sql_auto_complete(" +
                                sql::QuoteLiteral(text) + ")");
  while (result && !result->HasError()) {
    auto chunk = result->Fetch();
    if (!chunk || chunk->size() == 0) break;
    for (duckdb::idx_t i = 0; i < chunk->size(); ++i) {
      out.push_back(chunk->GetValue(0, i).ToString());
      *start = static_cast<size_t>(chunk->GetValue(1, i).GetValue<int64_t>());
    }
  }
  return out;
}

unsigned char Shell::OnComplete(EditLine* edit, int) { return Of(edit).Complete(); }

unsigned char Shell::Complete() {
  const LineInfo* line = el_line(edit_.get());
  std::string text = pending_ + std::string(line->buffer, line->cursor);
  size_t start = text.size();
  std::vector<std::string> suggestions = Suggestions(text, &start);
  if (suggestions.empty() || start > text.size() || start < pending_.size()) return CC_REFRESH_BEEP;
  std::string typed = text.substr(start);
  // DuckDB also offers what is merely similar.
  std::erase_if(suggestions, [&](const std::string& each) {
    return strncasecmp(each.c_str(), typed.c_str(), typed.size()) != 0;
  });
  if (suggestions.empty()) return CC_REFRESH_BEEP;
  std::string common = suggestions[0];
  for (const std::string& each : suggestions) {
    size_t length = 0;
    while (length < common.size() && length < each.size() && common[length] == each[length])
      ++length;
    common.resize(length);
  }
  if (suggestions.size() > 1 && common.size() <= typed.size()) {
    fmt::print("\n");
    for (size_t i = 0; i < suggestions.size() && i < 40; ++i) fmt::print("{}  ", suggestions[i]);
    fmt::print("\n");
    std::fflush(stdout);
    return CC_REDISPLAY;
  }
  if (!typed.empty()) el_deletestr(edit_.get(), static_cast<int>(typed.size()));
  return el_insertstr(edit_.get(), common.c_str()) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
}

}  // namespace

void RunShell(StatementRunner* runner) {
  Shell shell(runner);
  if (!shell.Open()) return PrintError("could not open the terminal for editing");
  fmt::print("Statements end with ; and .help lists the commands of the shell.\n");
  std::fflush(stdout);
  shell.Run();
}

}  // namespace kelda::cli
