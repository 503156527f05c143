#pragma once

#include <string_view>

#include "apps/kelda/statement_runner.h"

namespace kelda::cli {

/// Run a line of the shell that starts with a dot. False: the shell is to end.
bool RunDotCommand(std::string_view line, StatementRunner* runner);

/// The statements of a file (`-`: standard input), which may be larger than what is kept: nothing
/// if it cannot be read.
std::optional<std::string> ReadScript(const std::string& path);

}  // namespace kelda::cli
