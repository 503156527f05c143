#!/bin/bash
# Runs every fuzz program for some seconds: tools/run_fuzz.sh FOLDER SECONDS
# Seeds come from the folder named in <program>.corpus; what is found new stays in <program>.found, and
# an input that crashes in <program>.crash. Fails if any program fails, or if there is none.
set -uo pipefail
folder=$1 seconds=$2
passed=0 failed=0
export ARROW_DEFAULT_MEMORY_POOL=system
for program in "$folder"/*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  name=$(basename "$program")
  mkdir -p "$program.found" "$program.crash"
  if "$program" "$program.found" "$(<"$program.corpus")" -max_total_time="$seconds" \
    -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$program.crash/" >"$program.log" 2>&1; then
    passed=$((passed + 1))
    printf 'ok    %-32s %s\n' "$name" "$(grep -E '^Done ' "$program.log" | tail -1)"
  else
    failed=$((failed + 1))
    printf 'fail  %s\n' "$name"
    tail -60 "$program.log"
  fi
done
if [ $((passed + failed)) -eq 0 ]; then
  echo "error: no fuzz programs in $folder" >&2
  exit 1
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
