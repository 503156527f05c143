# Language level, warnings, sanitizers and linker. Every target gets the same flags, so that all of
# them can share one precompiled header.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# -fPIC is a plain option and not the target property: the property gives programs -fPIE, and a
# precompiled header is refused when the two differ.
add_compile_options(-fPIC -Wall -Wextra)
# DuckDB calls its own inline functions through the PLT; ours must not take their place.
add_compile_options(-fvisibility-inlines-hidden)
if(KELDA_WERROR)
  add_compile_options(-Werror)
  # What GCC guesses about sizes while it optimizes is often wrong (char_traits of libstdc++): shown, no error.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-error=stringop-overflow -Wno-error=stringop-overread -Wno-error=array-bounds
                        -Wno-error=restrict -Wno-error=maybe-uninitialized -Wno-error=free-nonheap-object)
  endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)
else()
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

if(KELDA_SANITIZE)
  add_compile_options(-fsanitize=${KELDA_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${KELDA_SANITIZE})
  if(KELDA_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
endif()
if(KELDA_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "KELDA_FUZZ needs clang, found ${CMAKE_CXX_COMPILER_ID}")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

find_program(KELDA_MOLD_PROGRAM mold)
if(KELDA_MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
