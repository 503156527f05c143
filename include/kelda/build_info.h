#pragma once

#include <string_view>

namespace kelda {

/// What this build of Kelda is made of.
struct BuildInfo {
  std::string_view version;
  /// `unknown` outside a git checkout; ends in `-modified` if files differ from the revision.
  std::string_view git_revision;
  std::string_view arrow_version;
  std::string_view duckdb_version;
  std::string_view compiler;
  std::string_view build_type;
};

/// Return the description of the running library; it lives as long as the process.
const BuildInfo& GetBuildInfo();

}  // namespace kelda
