#include "kelda/base/log.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <strings.h>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <mutex>

#include "kelda/base/clock.h"

namespace kelda {

namespace {

struct Sink {
  std::mutex mutex;
  int fd = STDERR_FILENO;
};

Sink& ProcessSink() {
  // Never destroyed: threads may log while the process ends.
  static auto& sink = *new Sink();
  return sink;
}

std::string Timestamp() {
  const int64_t now_millis = Clock::System()->NowMillis();
  const auto seconds = static_cast<time_t>(now_millis / 1000);
  struct tm utc = {};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     now_millis % 1000);
}

void AppendEscaped(std::string& line, std::string_view text) {
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
}

}  // namespace

std::atomic<LogLevel> Log::level_{LogLevel::kWarn};

std::string_view ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDebug:
      return "debug";
  }
  return "error";
}

std::optional<LogLevel> ParseLogLevel(std::string_view text) {
  for (auto level : {LogLevel::kError, LogLevel::kWarn, LogLevel::kInfo, LogLevel::kDebug}) {
    const auto name = ToString(level);
    if (text.size() == name.size() && strncasecmp(text.data(), name.data(), name.size()) == 0) {
      return level;
    }
  }
  return std::nullopt;
}

arrow::Status Log::SetFile(const std::string& path) {
  int fd = STDERR_FILENO;
  if (!path.empty()) {
    fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return arrow::Status::IOError("open log file ", path, ": ", std::strerror(errno));
  }
  auto& sink = ProcessSink();
  std::lock_guard<std::mutex> lock(sink.mutex);
  if (sink.fd != STDERR_FILENO) close(sink.fd);
  sink.fd = fd;
  return arrow::Status::OK();
}

void Log::Write(LogLevel level, std::string_view file, int line, std::string_view text) {
  const auto slash = file.rfind('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  std::string record = fmt::format("{} {:<5} {} {}:{} ", Timestamp(), ToString(level),
                                   syscall(SYS_gettid), file, line);
  AppendEscaped(record, text);
  record += '\n';
  auto& sink = ProcessSink();
  std::lock_guard<std::mutex> lock(sink.mutex);
  std::string_view left = record;
  while (!left.empty()) {
    const ssize_t n = write(sink.fd, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nowhere left to tell
    left.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace kelda
