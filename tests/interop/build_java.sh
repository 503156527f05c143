#!/bin/sh
# Builds the Java side of the interop tests into build/interop; does nothing when it is up to date.
# Maven keeps what it downloads in its own repository, so a repeated build works without a network.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${KELDA_INTEROP_DIR:-$here/../../build/interop}
mkdir -p "$out"
out=$(cd "$out" && pwd)
exec 9>"$out/lock"
flock 9
stamp=$out/java.stamp
sum=$(cd "$here/java" && find . -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d' ' -f1)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$sum" ] && [ -f "$out/java/interop-1.jar" ]; then
  exit 0
fi
for tool in mvn javac; do
  command -v $tool >/dev/null || {
    echo "error: $tool is missing; run: apt-get install -y --no-install-recommends maven openjdk-17-jdk-headless" >&2
    exit 1
  }
done
run() { mvn -q -B $1 -f "$here/java/pom.xml" -Dkelda.out="$out/java" package; }
run -o >"$out/mvn.log" 2>&1 || run "" >"$out/mvn.log" 2>&1 || {
  echo "error: building the Java side failed:" >&2
  tail -n 40 "$out/mvn.log" >&2
  exit 1
}
echo "$sum" >"$stamp"
