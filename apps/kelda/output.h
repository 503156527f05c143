#pragma once

#include <string>
#include <string_view>

namespace kelda::cli {

/// Buffered text to a file descriptor. After the first failed write everything is dropped.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}
  Output(const Output&) = delete;
  ~Output() { Flush(); }

  void Write(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kFlushSize) Flush();
  }
  /// For building text in place: append to it, then call FlushIfLarge.
  std::string* buffer() { return &buffer_; }
  void FlushIfLarge() {
    if (buffer_.size() >= kFlushSize) Flush();
  }
  void Flush();

  /// errno of the first failed write, 0 if none failed.
  int error() const { return error_; }
  bool is_terminal() const;

 private:
  static constexpr size_t kFlushSize = 64 << 10;

  int fd_;
  int error_ = 0;
  std::string buffer_;
};

}  // namespace kelda::cli
