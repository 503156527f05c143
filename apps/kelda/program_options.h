#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "apps/kelda/result_writer.h"

namespace kelda::cli {

enum class ProgressMode { kAuto, kOn, kOff };

/// SQL from the command line: `text` of -c, or the file of -f.
struct Script {
  bool is_file = false;
  std::string text;
};

struct ProgramOptions {
  std::string warehouse;
  std::vector<Script> scripts;  ///< in the order of the command line
  bool keep_going = false;
  std::optional<Format> format;
  std::vector<std::pair<std::string, std::string>> catalog_options;
  std::string memory;
  int threads = 0;
  ProgressMode progress = ProgressMode::kAuto;
  std::string log_level = "warn";
  std::string log_file;
};

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

/// The options, or the exit code of a program that has said what there was to say: --help,
/// --version, wrong use.
std::variant<ProgramOptions, int> ParseProgramOptions(int argc, char** argv);

}  // namespace kelda::cli
