#!/bin/bash
# Floors, formatting, and clang-tidy on the sources that differ from BASE (default: the main branch of
# the remote, or else the last commit): tools/lint.sh [BASE]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools/check_floors.py
tools/format.py --check

base=${1:-$(git merge-base HEAD origin/main 2>/dev/null || echo HEAD)}
mapfile -t changed < <({
  git diff --name-only --diff-filter=d "$base" -- '*.cc'
  git ls-files --others --exclude-standard -- '*.cc'
} | sort -u)
if [ ${#changed[@]} -eq 0 ]; then
  echo "clang-tidy: no source differs from $base"
  exit 0
fi
tools/build.sh dev "$(nproc)" kelda_pch >/dev/null
# clang cannot read g++'s precompiled header and does not know its option.
mkdir -p build/tidy
sed -E 's/ -include [^ ]*cmake_pch\.hxx//; s/ -fpch-preprocess//; s/ -Winvalid-pch//' \
  build/dev/compile_commands.json >build/tidy/compile_commands.json
known=()
for file in "${changed[@]}"; do
  grep -q "\"file\": \"$PWD/$file\"" build/tidy/compile_commands.json && known+=("$file")
done
echo "clang-tidy: ${#known[@]} of ${#changed[@]} changed sources"
[ ${#known[@]} -eq 0 ] || printf '%s\0' "${known[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-16 --quiet -p build/tidy 2> >(grep -v ' warnings\? generated\.$' >&2)
