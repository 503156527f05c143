# kelda_build_info: what the program says about itself (include/kelda/build_info.h). The git revision is
# read at every build; the file is rewritten, and programs relinked, only when it changes.
set(_info "${PROJECT_BINARY_DIR}/generated/kelda_build_info.cc")
set(_write_info "${CMAKE_COMMAND}"
  "-DOUTPUT=${_info}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}" "-DVERSION=${PROJECT_VERSION}"
  "-DARROW_VERSION=${KELDA_ARROW_VERSION_STRING}" "-DDUCKDB_VERSION=${KELDA_DUCKDB_VERSION}"
  "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}" "-DBUILD_TYPE=${CMAKE_BUILD_TYPE}"
  -P "${PROJECT_SOURCE_DIR}/cmake/WriteBuildInfo.cmake")
execute_process(COMMAND ${_write_info})
add_custom_target(kelda_write_build_info COMMAND ${_write_info} BYPRODUCTS "${_info}" VERBATIM
                  COMMENT "Reading the git revision")
add_library(kelda_build_info STATIC "${_info}")
add_dependencies(kelda_build_info kelda_write_build_info)
target_include_directories(kelda_build_info PUBLIC "${PROJECT_SOURCE_DIR}/include")
