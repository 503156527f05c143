# Run by `cmake -P`: writes the source of kelda_build_info if its content changes.
set(revision "unknown")
execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse --short=12 HEAD
                OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
if(result EQUAL 0)
  set(revision "${output}")
  execute_process(COMMAND git -C "${SOURCE_DIR}" diff-index --quiet HEAD -- RESULT_VARIABLE changed ERROR_QUIET)
  if(NOT changed EQUAL 0)
    string(APPEND revision "-modified")
  endif()
endif()
set(content "#include \"kelda/build_info.h\"

namespace kelda {

const BuildInfo& GetBuildInfo() {
  static constexpr BuildInfo kInfo = {
      .version = \"${VERSION}\",
      .git_revision = \"${revision}\",
      .arrow_version = \"${ARROW_VERSION}\",
      .duckdb_version = \"${DUCKDB_VERSION}\",
      .compiler = \"${COMPILER}\",
      .build_type = \"${BUILD_TYPE}\",
  };
  return kInfo;
}

}  // namespace kelda
")
set(old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT content STREQUAL old)
  file(WRITE "${OUTPUT}" "${content}")
endif()
