#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kelda/sql/session/session.h"

namespace kelda::sql {

/// One block of a test file (README.md).
struct SqlTestBlock {
  int line = 0;                        ///< of the first line, from 1
  std::string command;                 ///< first word: statement, query, copy ...
  std::vector<std::string> arguments;  ///< rest of the first line, split at blanks
  std::string rest;                    ///< the same, whole, without the first argument
  std::string sql;
  std::vector<std::string> expected;  ///< lines after `----`
};

/// Runs one test file against a database of its own. Failures go to GoogleTest.
class SqlTestFile {
 public:
  explicit SqlTestFile(std::filesystem::path path);
  ~SqlTestFile();
  void Run();

 private:
  using Rows = std::vector<std::string>;

  void RunFile(const std::filesystem::path& path);
  std::vector<SqlTestBlock> Parse();
  void RunBlock(const SqlTestBlock& block);
  void RunStatement(const SqlTestBlock& block);
  void RunQuery(const SqlTestBlock& block);
  void RunFileCommand(const SqlTestBlock& block);
  /// Rows as text; the error text in `error` if it fails.
  Rows Execute(const std::string& sql, std::string* error);
  void Open();
  void Close();
  std::string Substitute(std::string text) const;
  void Fail(const SqlTestBlock& block, const std::string& text) const;
  /// Files that match; `*` stands for any text inside one component.
  std::vector<std::filesystem::path> Match(const std::string& pattern) const;

  std::filesystem::path path_;
  std::filesystem::path current_;  ///< differs from path_ inside an include
  std::filesystem::path temp_;
  std::unique_ptr<Session> session_;
  std::map<std::string, std::unique_ptr<duckdb::Connection>> connections_;
  std::string connection_ = "main";
};

}  // namespace kelda::sql
