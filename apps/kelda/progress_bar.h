#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "kelda/sql/session/session.h"
#include "kelda/sql/session/statement_progress.h"

namespace kelda::cli {

/// A line on standard error that says how far the running statement is, from two seconds after its
/// construction to its destruction. Its own thread only looks at counters.
class ProgressBar {
 public:
  explicit ProgressBar(sql::Session* session);
  ~ProgressBar();

  /// Take the line away, because rows are about to be printed.
  void Stop();

 private:
  void Run();
  void Draw(double seconds);
  std::string Text(double seconds) const;

  sql::Session& session_;
  duckdb::shared_ptr<sql::StatementProgress> progress_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  bool drawn_ = false;
  std::thread thread_;
};

}  // namespace kelda::cli
