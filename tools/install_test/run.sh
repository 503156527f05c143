#!/bin/bash
# Installs a build folder into a new prefix, moves the prefix, and uses it: the program, the CMake package,
# pkg-config, and all installed headers. tools/install_test/run.sh BUILD_FOLDER
set -uo pipefail
build=$1
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
sanitize=$(sed -n 's/^KELDA_SANITIZE:STRING=//p' "$build/CMakeCache.txt")

check() {
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "fail $name"
    tail -20 "$work/log"
  fi
}

compile_headers() {
  find "$prefix/include/kelda" -name third_party -prune -o -name '*.h' -printf '#include "kelda/%P"\n' \
    >"$work/all.cc"
  # shellcheck disable=SC2046
  g++ -fsyntax-only $(pkg-config --cflags kelda) "$work/all.cc"
}
with_pkg_config() {
  # shellcheck disable=SC2046
  g++ ${sanitize:+-fsanitize=$sanitize} "$source/main.cc" -o "$work/a.out" $(pkg-config --cflags --libs kelda) &&
    "$work/a.out" | grep '^kelda [0-9]'
}
with_cmake() {
  cmake -S "$source" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
    ${sanitize:+-DCMAKE_CXX_FLAGS=-fsanitize=$sanitize} && cmake --build "$work/cmake" &&
    "$work/cmake/install_test" | grep '^kelda [0-9]'
}

check install cmake --install "$build" --prefix "$work/first"
prefix=$work/moved
mv "$work/first" "$prefix"
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
if [ -e "$build/kelda" ]; then
  check program env -i "$prefix/bin/kelda" --version
fi
check headers compile_headers
check pkg-config with_pkg_config
check cmake with_cmake
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
