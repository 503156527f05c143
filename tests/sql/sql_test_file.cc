#include "tests/sql/sql_test_file.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

namespace kelda::sql {

namespace {

namespace fs = std::filesystem;

bool IsBlank(const std::string& line) {
  return std::all_of(line.begin(), line.end(), [](unsigned char c) { return std::isspace(c); });
}

std::vector<std::string> Words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string AfterWords(const std::string& line, int count) {
  size_t i = 0;
  for (int word = 0; word < count; ++word) {
    while (i < line.size() && !std::isspace(static_cast<unsigned char>(line[i]))) ++i;
    while (i < line.size() && std::isspace(static_cast<unsigned char>(line[i]))) ++i;
  }
  return line.substr(i);
}

std::string ValueText(const duckdb::Value& value) {
  if (value.IsNull()) return "NULL";
  const std::string text = value.ToString();
  if (text.empty()) return "(empty)";
  std::string escaped;
  for (char c : text) {
    switch (c) {
      case '\t':
        escaped += "\\t";
        break;
      case '\n':
        escaped += "\\n";
        break;
      case '\\':
        escaped += "\\\\";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

void AppendRows(duckdb::DataChunk& chunk, std::vector<std::string>* rows) {
  for (duckdb::idx_t row = 0; row < chunk.size(); ++row) {
    std::string line;
    for (duckdb::idx_t column = 0; column < chunk.ColumnCount(); ++column) {
      if (column > 0) line += '\t';
      line += ValueText(chunk.GetValue(column, row));
    }
    rows->push_back(std::move(line));
  }
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

SqlTestFile::SqlTestFile(fs::path path) : path_(std::move(path)) {
  static int count = 0;
  temp_ = fs::temp_directory_path() / fmt::format("kelda-sql-test-{}-{}", getpid(), count++);
}

SqlTestFile::~SqlTestFile() {
  Close();
  std::error_code error;
  fs::remove_all(temp_, error);
}

void SqlTestFile::Open() {
  auto session = Session::Open(SessionOptions{});
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  session_ = std::move(*session);
}

void SqlTestFile::Close() {
  connections_.clear();
  session_.reset();
  connection_ = "main";
}

void SqlTestFile::Run() {
  fs::create_directories(temp_);
  Open();
  RunFile(path_);
}

void SqlTestFile::RunFile(const fs::path& path) {
  const fs::path previous = std::exchange(current_, path);
  for (const SqlTestBlock& block : Parse()) {
    if (session_ == nullptr) return;
    RunBlock(block);
  }
  current_ = previous;
}

std::vector<SqlTestBlock> SqlTestFile::Parse() {
  std::ifstream stream(current_);
  std::vector<SqlTestBlock> blocks;
  std::string line;
  bool open = false;
  bool expecting = false;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (!line.empty() && line[0] == '#') continue;
    if (IsBlank(line)) {
      open = expecting = false;
    } else if (!open) {
      SqlTestBlock block;
      block.line = number;
      block.arguments = Words(line);
      block.command = block.arguments[0];
      block.arguments.erase(block.arguments.begin());
      block.rest = Substitute(AfterWords(line, 2));
      blocks.push_back(std::move(block));
      open = true;
    } else if (line == "----") {
      expecting = true;
    } else if (expecting) {
      blocks.back().expected.push_back(Substitute(line));
    } else {
      blocks.back().sql += Substitute(line) + "\n";
    }
  }
  if (blocks.empty()) ADD_FAILURE() << current_ << ": no block";
  return blocks;
}

std::string SqlTestFile::Substitute(std::string text) const {
  const std::pair<std::string, std::string> variables[] = {
      {"${TMP}", temp_.string()}, {"${DATA}", fs::absolute("tests/data").string()}};
  for (const auto& [name, value] : variables) {
    for (size_t at = text.find(name); at != std::string::npos;
         at = text.find(name, at + value.size())) {
      text.replace(at, name.size(), value);
    }
  }
  return text;
}

void SqlTestFile::Fail(const SqlTestBlock& block, const std::string& text) const {
  ADD_FAILURE_AT(current_.c_str(), block.line) << text << "\nin:\n" << block.sql;
}

void SqlTestFile::RunBlock(const SqlTestBlock& block) {
  if (block.command == "statement") {
    RunStatement(block);
  } else if (block.command == "query") {
    RunQuery(block);
  } else if (block.command == "include" && block.arguments.size() == 1) {
    RunFile(path_.parent_path() / block.arguments[0]);
  } else if (block.command == "restart") {
    Close();
    Open();
  } else if (block.command == "connection" && block.arguments.size() == 1) {
    connection_ = block.arguments[0];
    auto& connection = connections_[connection_];
    if (connection_ != "main" && connection == nullptr)
      connection = std::make_unique<duckdb::Connection>(session_->database());
  } else {
    RunFileCommand(block);
  }
}

SqlTestFile::Rows SqlTestFile::Execute(const std::string& sql, std::string* error) {
  Rows rows;
  try {
    auto result =
        connection_ == "main"
            ? session_->Execute(sql)
            : duckdb::unique_ptr<duckdb::QueryResult>(connections_.at(connection_)->Query(sql));
    if (result == nullptr) return rows;
    while (!result->HasError()) {
      auto chunk = result->Fetch();
      if (chunk == nullptr || chunk->size() == 0) break;
      AppendRows(*chunk, &rows);
    }
    if (result->HasError()) *error = result->GetError();
  } catch (const std::exception& exception) {
    *error = duckdb::ErrorData(exception).Message();
  }
  return rows;
}

void SqlTestFile::RunStatement(const SqlTestBlock& block) {
  std::string error;
  Execute(block.sql, &error);
  const std::string kind = block.arguments.empty() ? "" : block.arguments[0];
  if (kind == "ok") {
    if (!error.empty()) Fail(block, "failed: " + error);
  } else if (kind == "error") {
    if (error.empty()) {
      Fail(block, "succeeded, an error was expected");
    } else if (!std::regex_search(error, std::regex(block.rest))) {
      Fail(block, fmt::format("another error than /{}/: {}", block.rest, error));
    }
  } else {
    Fail(block, "statement must be followed by ok or error");
  }
}

void SqlTestFile::RunQuery(const SqlTestBlock& block) {
  const std::string kind = block.arguments.empty() ? "" : block.arguments[0];
  std::string error;
  Rows rows = Execute(block.sql, &error);
  if (!error.empty()) return Fail(block, "failed: " + error);
  Rows expected = block.expected;
  if (kind == "matches") {
    const std::string text = Joined(rows);
    for (const std::string& pattern : expected) {
      if (!std::regex_search(text, std::regex(pattern)))
        Fail(block, fmt::format("no match of /{}/ in\n{}", pattern, text));
    }
    return;
  }
  if (kind == "same") {
    expected = Execute(Joined(expected), &error);
    if (!error.empty()) return Fail(block, "the second query failed: " + error);
  }
  if (kind == "sort" || kind == "same") {
    std::sort(rows.begin(), rows.end());
    std::sort(expected.begin(), expected.end());
  } else if (!kind.empty()) {
    return Fail(block, "unknown kind of query: " + kind);
  }
  if (rows != expected)
    Fail(block, fmt::format("rows:\n{}expected:\n{}", Joined(rows), Joined(expected)));
}

std::vector<fs::path> SqlTestFile::Match(const std::string& pattern) const {
  std::vector<fs::path> found{fs::path("/")};
  for (const fs::path& component : fs::path(pattern).relative_path()) {
    std::vector<fs::path> next;
    std::string expression;
    for (char c : component.string()) {
      if (c == '*') {
        expression += ".*";
      } else {
        if (!std::isalnum(static_cast<unsigned char>(c))) expression += '\\';
        expression += c;
      }
    }
    const std::regex regex(expression);
    for (const fs::path& folder : found) {
      if (component.string().find('*') == std::string::npos) {
        if (fs::exists(folder / component)) next.push_back(folder / component);
        continue;
      }
      if (!fs::is_directory(folder)) continue;
      for (const auto& entry : fs::directory_iterator(folder)) {
        if (std::regex_match(entry.path().filename().string(), regex)) next.push_back(entry.path());
      }
    }
    found = std::move(next);
  }
  return found;
}

void SqlTestFile::RunFileCommand(const SqlTestBlock& block) {
  std::vector<std::string> arguments;
  for (const std::string& argument : block.arguments) arguments.push_back(Substitute(argument));
  if (block.command == "copy" && arguments.size() == 2) {
    fs::create_directories(fs::path(arguments[1]).parent_path());
    fs::copy(arguments[0], arguments[1], fs::copy_options::recursive);
    return;
  }
  if (arguments.empty()) return Fail(block, "unknown command: " + block.command);
  const auto files = Match(arguments[0]);
  if (files.empty()) return Fail(block, "no file matches " + arguments[0]);
  for (const fs::path& file : files) {
    if (block.command == "remove") {
      fs::remove_all(file);
    } else if (block.command == "truncate" && arguments.size() == 2) {
      fs::resize_file(file, std::stoull(arguments[1]));
    } else if (block.command == "flip" && arguments.size() == 2) {
      const long long offset = std::stoll(arguments[1]);
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      const auto whence = offset < 0 ? std::ios::end : std::ios::beg;
      stream.seekg(offset, whence);
      const char byte = static_cast<char>(~stream.get());
      stream.seekp(offset, whence);
      stream.put(byte);
    } else {
      return Fail(block, "unknown command: " + block.command);
    }
  }
}

}  // namespace kelda::sql
