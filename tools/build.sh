#!/bin/bash
# Configures and builds one preset: tools/build.sh PRESET JOBS [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
preset=$1 jobs=$2
shift 2
cmake --preset "$preset" --log-level=WARNING >"build/configure-$preset.log" 2>&1 || {
  cat "build/configure-$preset.log" >&2
  exit 1
}
cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
