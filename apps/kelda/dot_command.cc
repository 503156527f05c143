#include "apps/kelda/dot_command.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kelda/sql/parser/lexer.h"

namespace kelda::cli {
namespace {

constexpr std::string_view kHelp =
    ".help              this text\n"
    ".mode FORMAT       box, csv, tsv, json, jsonl, markdown or line\n"
    ".quit              leave; so does Ctrl-D\n"
    ".read FILE         run the statements of a file\n"
    ".schema [TABLE]    the statement that makes a table, or all of the current database\n"
    ".tables [PATTERN]  tables of the current database; % stands for any text\n"
    ".timer on|off      print how long each statement took\n"
    "Statements end with ; and may take several lines. Ctrl-C cancels one, Tab completes.\n";

std::vector<std::string> SplitWords(std::string_view line) {
  std::vector<std::string> words;
  size_t pos = 0;
  while ((pos = line.find_first_not_of(" \t\r\n", pos)) != std::string_view::npos) {
    size_t end = std::min(line.find_first_of(" \t\r\n", pos), line.size());
    words.emplace_back(line.substr(pos, end - pos));
    pos = end;
  }
  return words;
}

void ShowSchema(const std::vector<std::string>& words, StatementRunner* runner) {
  std::vector<std::string> tables;
  if (words.size() > 1) {
    tables.push_back(words[1]);
  } else {
    auto result = runner->session().Execute("SHOW TABLES");
    while (result && !result->HasError()) {
      auto chunk = result->Fetch();
      if (!chunk || chunk->size() == 0) break;
      for (duckdb::idx_t i = 0; i < chunk->size(); ++i) {
        tables.push_back(sql::QuoteIdentifier(chunk->GetValue(0, i).ToString()));
      }
    }
    if (result && result->HasError()) return PrintError(result->GetError());
  }
  for (const std::string& table : tables) {
    auto result = runner->session().Execute("SHOW CREATE TABLE " + table);
    auto chunk = result && !result->HasError() ? result->Fetch() : nullptr;
    if (result && result->HasError()) return PrintError(result->GetError());
    if (chunk && chunk->size() > 0) runner->output().Write(chunk->GetValue(0, 0).ToString() + "\n");
  }
  runner->output().Flush();
}

void SetMode(const std::vector<std::string>& words, StatementRunner* runner) {
  std::optional<Format> format;
  if (words.size() == 2) format = ParseFormat(words[1]);
  if (!format) return PrintError(".mode takes one of box, csv, tsv, json, jsonl, markdown, line");
  runner->format = *format;
}

void SetTimer(const std::vector<std::string>& words, StatementRunner* runner) {
  if (words.size() != 2 || (words[1] != "on" && words[1] != "off"))
    return PrintError(".timer takes on or off");
  runner->timer = words[1] == "on";
}

void ReadFile(const std::vector<std::string>& words, StatementRunner* runner) {
  if (words.size() != 2) return PrintError(".read takes one file");
  if (auto script = ReadScript(words[1])) runner->RunScript(*script, words[1]);
}

}  // namespace

bool RunDotCommand(std::string_view line, StatementRunner* runner) {
  std::vector<std::string> words = SplitWords(line);
  const std::string& command = words[0];
  if (command == ".quit" || command == ".exit") return false;
  if (command == ".help") {
    runner->output().Write(kHelp);
    runner->output().Flush();
  } else if (command == ".tables") {
    runner->RunStatement(words.size() > 1 ? "SHOW TABLES LIKE " + sql::QuoteLiteral(words[1])
                                          : "SHOW TABLES");
  } else if (command == ".schema") {
    ShowSchema(words, runner);
  } else if (command == ".mode") {
    SetMode(words, runner);
  } else if (command == ".timer") {
    SetTimer(words, runner);
  } else if (command == ".read") {
    ReadFile(words, runner);
  } else {
    PrintError(fmt::format("unknown command {}; .help lists them", command));
  }
  return true;
}

std::optional<std::string> ReadScript(const std::string& path) {
  std::string out;
  FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    PrintError(fmt::format("could not read {}: {}", path, std::strerror(errno)));
    return std::nullopt;
  }
  char part[1 << 16];
  size_t length;
  while ((length = std::fread(part, 1, sizeof(part), file)) > 0) out.append(part, length);
  int error = std::ferror(file) != 0 ? errno : 0;
  if (file != stdin) std::fclose(file);
  if (error != 0) {
    PrintError(fmt::format("could not read {}: {}", path, std::strerror(error)));
    return std::nullopt;
  }
  return out;
}

}  // namespace kelda::cli
