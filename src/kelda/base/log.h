#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kelda/base/status.h"

namespace kelda {

enum class LogLevel { kError = 0, kWarn = 1, kInfo = 2, kDebug = 3 };

std::string_view ToString(LogLevel level);
/// "error", "warn", "info" or "debug" (any case); nothing for other text.
std::optional<LogLevel> ParseLogLevel(std::string_view text);

/// Log of the process: one line per record, to stderr until SetFile. Thread-safe; each line is one
/// write call, so lines of processes that append to one file stay whole.
class Log {
 public:
  /// Records above `level` are dropped. Default: warn.
  static void SetLevel(LogLevel level) { level_.store(level, std::memory_order_relaxed); }
  static LogLevel level() { return level_.load(std::memory_order_relaxed); }
  static bool Enabled(LogLevel level) { return level <= Log::level(); }
  /// Append to the file `path` from now on; empty = stderr.
  static arrow::Status SetFile(const std::string& path);
  /// Used by KELDA_LOG. Control characters of `text` are escaped: a record is one line.
  static void Write(LogLevel level, std::string_view file, int line, std::string_view text);

 private:
  static std::atomic<LogLevel> level_;
};

}  // namespace kelda

/// KELDA_LOG(Info, "{} files", n): arguments are evaluated only if the level is on.
#define KELDA_LOG(level, ...)                                              \
  do {                                                                     \
    if (::kelda::Log::Enabled(::kelda::LogLevel::k##level)) {              \
      ::kelda::Log::Write(::kelda::LogLevel::k##level, __FILE__, __LINE__, \
                          ::fmt::format(__VA_ARGS__));                     \
    }                                                                      \
  } while (false)
