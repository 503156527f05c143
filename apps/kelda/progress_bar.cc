#include "apps/kelda/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include <fmt/format.h>

namespace kelda::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirst{2000};
constexpr std::chrono::milliseconds kInterval{250};
constexpr int kBarWidth = 24;

std::string FormatCount(double count) {
  if (count >= 1e9) return fmt::format("{:.1f} G", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.1f} M", count / 1e6);
  if (count >= 1e4) return fmt::format("{:.0f} k", count / 1e3);
  return fmt::format("{:.0f}", count);
}

std::string FormatSeconds(double seconds) {
  if (seconds >= 3600)
    return fmt::format("{:.0f} h {:.0f} min", std::floor(seconds / 3600),
                       std::fmod(seconds, 3600) / 60);
  if (seconds >= 60)
    return fmt::format("{:.0f} min {:.0f} s", std::floor(seconds / 60), std::fmod(seconds, 60));
  return fmt::format("{:.0f} s", seconds);
}

std::string_view PhaseName(sql::StatementProgress::Phase phase) {
  using Phase = sql::StatementProgress::Phase;
  switch (phase) {
    case Phase::kPlanning:
      return "planning";
    case Phase::kReading:
      return "reading";
    case Phase::kWriting:
      return "writing";
    case Phase::kCommitting:
      break;
  }
  return "committing";
}

}  // namespace

ProgressBar::ProgressBar(sql::Session* session)
    : session_(*session),
      progress_(sql::StatementProgress::Of(session->context())),
      thread_([this] { Run(); }) {}

ProgressBar::~ProgressBar() { Stop(); }

void ProgressBar::Stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_one();
  thread_.join();
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::Run() {
  const Clock::time_point begin = Clock::now();
  std::unique_lock<std::mutex> lock(mutex_);
  std::chrono::milliseconds wait = kFirst;
  while (!stopped_.wait_for(lock, wait, [this] { return stop_; })) {
    Draw(std::chrono::duration<double>(Clock::now() - begin).count());
    wait = kInterval;
  }
}

std::string ProgressBar::Text(double seconds) const {
  using Phase = sql::StatementProgress::Phase;
  duckdb::QueryProgress query = session_.context().GetQueryProgress();
  const double share = std::min(query.GetPercentage() / 100, 1.0);
  const sql::StatementProgress& work = *progress_;
  std::string line;
  if (share >= 0) {
    const int full = static_cast<int>(share * kBarWidth);
    line = fmt::format("[{:=<{}}{: <{}}] {:3.0f} %  ", "", full, "", kBarWidth - full, share * 100);
  }
  const Phase phase = work.phase;
  line += phase == Phase::kPlanning && share > 0 ? "working" : PhaseName(phase);
  if (const int64_t files = work.files_planned; files > 0)
    line += fmt::format("  {}/{} files", std::min<int64_t>(work.files_opened, files), files);
  const bool writes = work.bytes_written > 0;
  const double rows = writes ? static_cast<double>(work.rows_written)
                             : static_cast<double>(query.GetRowsProcesseed());
  if (rows > 0)
    line += fmt::format("  {} rows, {} rows/s", FormatCount(rows), FormatCount(rows / seconds));
  // What is written says more than what is read for it.
  const double bytes = writes ? static_cast<double>(work.bytes_written)
                              : static_cast<double>(work.bytes_planned) * std::max(share, 0.0);
  if (bytes > 0) line += fmt::format("  {:.1f} MB/s", bytes / 1e6 / seconds);
  line += "  " + FormatSeconds(seconds);
  if (share > 0.01 && share < 1)
    line += ", " + FormatSeconds(seconds * (1 - share) / share) + " left";
  return line;
}

void ProgressBar::Draw(double seconds) {
  std::string line = Text(seconds);
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    line = line.substr(0, static_cast<size_t>(size.ws_col - 1));
  }
  fmt::print(stderr, "\r{}\033[K", line);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace kelda::cli
