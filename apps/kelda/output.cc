#include "apps/kelda/output.h"

#include <unistd.h>

#include <cerrno>

namespace kelda::cli {

void Output::Flush() {
  size_t done = 0;
  while (error_ == 0 && done < buffer_.size()) {
    ssize_t written = write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  buffer_.clear();
}

bool Output::is_terminal() const { return isatty(fd_) == 1; }

}  // namespace kelda::cli
