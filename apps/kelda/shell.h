#pragma once

#include "apps/kelda/statement_runner.h"

namespace kelda::cli {

/// The interactive shell on a terminal: reads lines until .quit or Ctrl-D.
void RunShell(StatementRunner* runner);

}  // namespace kelda::cli
