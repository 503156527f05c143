# kelda_library(), kelda_test(), kelda_command_test(), kelda_fuzz(): the ways a folder joins the build.

# The folders of src/kelda, lowest floor first. The core is what libkelda.so holds; doors may use DuckDB.
set(KELDA_CORE_FOLDERS
    base types options row io format metadata index merge scan write read commit maintain catalog)
set(KELDA_DOOR_FOLDERS sql capi server ingest)

# One precompiled header, built once, reused by every library and test that does not say NO_PCH.
set(_pch_source "${PROJECT_BINARY_DIR}/generated/kelda_pch.cc")
if(NOT EXISTS "${_pch_source}")
  file(WRITE "${_pch_source}" "// Carries the precompiled header.\n")
endif()
add_library(kelda_pch OBJECT "${_pch_source}")
target_link_libraries(kelda_pch PUBLIC Arrow::arrow fmt::fmt Threads::Threads)
target_precompile_headers(kelda_pch PRIVATE
  <algorithm> <array> <atomic> <cstddef> <cstdint> <cstring> <functional> <limits> <map> <memory>
  <mutex> <optional> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>
  <arrow/api.h> <arrow/compute/api.h> <arrow/io/api.h> <fmt/format.h>)

# Names of folders become targets; everything else is passed on.
function(_kelda_resolve out)
  set(resolved "")
  foreach(name IN LISTS ARGN)
    if(name IN_LIST KELDA_CORE_FOLDERS OR name IN_LIST KELDA_DOOR_FOLDERS)
      list(APPEND resolved "kelda_${name}")
    else()
      list(APPEND resolved "${name}")
    endif()
  endforeach()
  set(${out} "${resolved}" PARENT_SCOPE)
endfunction()

function(_kelda_common target no_pch)
  target_link_libraries(${target} PUBLIC Arrow::arrow fmt::fmt Threads::Threads)
  if(NOT no_pch)
    target_precompile_headers(${target} REUSE_FROM kelda_pch)
  endif()
endfunction()

function(_kelda_reject_unparsed function)
  if(ARGN)
    message(FATAL_ERROR "${function}: unknown arguments: ${ARGN}")
  endif()
endfunction()

# kelda_library(NAME <folder> SOURCES <file>... [DEPS <folder or target>...] [NO_PCH])
# makes the static library kelda_<folder>. DEPS are public: whoever links it links them.
function(kelda_library)
  cmake_parse_arguments(arg "NO_PCH" "NAME" "SOURCES;DEPS" ${ARGN})
  _kelda_reject_unparsed(kelda_library ${arg_UNPARSED_ARGUMENTS})
  set(target "kelda_${arg_NAME}")
  add_library(${target} STATIC ${arg_SOURCES})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  _kelda_common(${target} "${arg_NO_PCH}")
  _kelda_resolve(deps ${arg_DEPS})
  target_link_libraries(${target} PUBLIC ${deps})
  set_property(GLOBAL APPEND PROPERTY KELDA_LIBRARIES ${target})
endfunction()

# Environment that every test runs with: the sanitizers see Arrow's buffers only in the system pool.
set(_kelda_test_env "")
if(KELDA_SANITIZE)
  list(APPEND _kelda_test_env "ARROW_DEFAULT_MEMORY_POOL=system")
  if(KELDA_SANITIZE MATCHES "thread")
    list(APPEND _kelda_test_env "TSAN_OPTIONS=ignore_noninstrumented_modules=1")
  endif()
endif()

function(_kelda_test_properties name labels timeout serial env)
  set_tests_properties(${name} PROPERTIES
    LABELS "${labels}" TIMEOUT "${timeout}" ENVIRONMENT "${_kelda_test_env};${env}")
  if(serial)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# kelda_test(NAME <target> SOURCES <file>... [DEPS ...] LABELS <label>... [TIMEOUT seconds]
#            [ENV NAME=VALUE...] [ARGS <argument>...] [SERIAL] [NO_PCH] [NO_MAIN])
# makes a GoogleTest program and one test that runs it. tools/run_tests.py counts its cases.
# Relative paths in tests start at the root of the source tree.
function(kelda_test)
  if(NOT KELDA_TESTS OR KELDA_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "SERIAL;NO_PCH;NO_MAIN" "NAME;TIMEOUT" "SOURCES;DEPS;LABELS;ENV;ARGS" ${ARGN})
  _kelda_reject_unparsed(kelda_test ${arg_UNPARSED_ARGUMENTS})
  if(NOT arg_LABELS)
    message(FATAL_ERROR "kelda_test(${arg_NAME}): LABELS is missing")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  _kelda_common(${arg_NAME} "${arg_NO_PCH}")
  _kelda_resolve(deps ${arg_DEPS})
  target_link_libraries(${arg_NAME} PUBLIC ${deps} GTest::gmock GTest::gtest)
  if(NOT arg_NO_MAIN)
    target_link_libraries(${arg_NAME} PUBLIC GTest::gtest_main)
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} ${arg_ARGS} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set(labels ${arg_LABELS} gtest)
  _kelda_test_properties(${arg_NAME} "${labels}" "${arg_TIMEOUT}" "${arg_SERIAL}" "${arg_ENV}")
endfunction()

# kelda_command_test(NAME <test> COMMAND <program> <argument>... LABELS <label>... [TIMEOUT seconds]
#                    [ENV NAME=VALUE...] [SERIAL])
# makes a test of any command. If the last line that it prints reads `N passed, N failed` (and perhaps
# `, N skipped`), those are its cases; otherwise it counts as one.
function(kelda_command_test)
  if(NOT KELDA_TESTS OR KELDA_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "SERIAL" "NAME;TIMEOUT" "COMMAND;LABELS;ENV" ${ARGN})
  _kelda_reject_unparsed(kelda_command_test ${arg_UNPARSED_ARGUMENTS})
  if(NOT arg_LABELS)
    message(FATAL_ERROR "kelda_command_test(${arg_NAME}): LABELS is missing")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  _kelda_test_properties(${arg_NAME} "${arg_LABELS}" "${arg_TIMEOUT}" "${arg_SERIAL}" "${arg_ENV}")
endfunction()

# kelda_fuzz(NAME <target> SOURCES <file>... [DEPS ...] CORPUS <folder>)
# makes a libFuzzer program in build/fuzz/fuzz; `make fuzz` runs it with a copy of the seed corpus.
# CORPUS is relative to the calling folder. Exists only in builds with KELDA_FUZZ.
add_custom_target(kelda_fuzzers)
function(kelda_fuzz)
  if(NOT KELDA_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "NO_PCH" "NAME;CORPUS" "SOURCES;DEPS" ${ARGN})
  _kelda_reject_unparsed(kelda_fuzz ${arg_UNPARSED_ARGUMENTS})
  get_filename_component(corpus "${arg_CORPUS}" ABSOLUTE)
  if(NOT IS_DIRECTORY "${corpus}")
    message(FATAL_ERROR "kelda_fuzz(${arg_NAME}): the seed corpus ${corpus} does not exist")
  endif()
  add_executable(${arg_NAME} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  _kelda_common(${arg_NAME} "${arg_NO_PCH}")
  _kelda_resolve(deps ${arg_DEPS})
  target_link_libraries(${arg_NAME} PUBLIC ${deps})
  target_link_options(${arg_NAME} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${arg_NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
  file(WRITE "${PROJECT_BINARY_DIR}/fuzz/${arg_NAME}.corpus" "${corpus}\n")
  add_dependencies(kelda_fuzzers ${arg_NAME})
endfunction()
