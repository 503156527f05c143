#include "kelda/io/io_operation.h"

#include <array>

namespace kelda {

std::string_view ToString(IoOperation operation) {
  static constexpr std::array<std::string_view, kIoOperations> kNames = {
      "open_input",  "read",       "read_all", "read_ranges", "create_new",
      "write",       "close",      "stat",     "list",        "make_dirs",
      "delete_file", "delete_dir", "rename",   "publish_new", "write_replacing"};
  return kNames[static_cast<size_t>(operation)];
}

}  // namespace kelda
