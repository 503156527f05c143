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

}  // namespace

ProgressBar::ProgressBar(sql::Session* session) : session_(*session), thread_([this] { Run(); }) {}

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

void ProgressBar::Draw(double seconds) {
  duckdb::QueryProgress progress = session_.context().GetQueryProgress();
  double percent = progress.GetPercentage();
  std::string line;
  if (percent >= 0) {
    double share = std::min(percent / 100, 1.0);
    int full = static_cast<int>(share * kBarWidth);
    line = fmt::format("[{:=<{}}{: <{}}] {:3.0f} %", "", full, "", kBarWidth - full, share * 100);
    double rows = static_cast<double>(progress.GetRowsProcesseed());
    if (rows > 0)
      line += fmt::format("  {} rows, {} rows/s", FormatCount(rows), FormatCount(rows / seconds));
    line += "  " + FormatSeconds(seconds);
    if (share > 0.01 && share < 1)
      line += ", " + FormatSeconds(seconds * (1 - share) / share) + " left";
  } else {
    line = "working  " + FormatSeconds(seconds);
  }
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    line = line.substr(0, static_cast<size_t>(size.ws_col - 1));
  }
  fmt::print(stderr, "\r{}\033[K", line);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace kelda::cli
