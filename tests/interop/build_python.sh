#!/bin/sh
# Installs pypaimon into its own venv, build/deps/pypaimon-venv; does nothing when it is there.
# It brings its own, older pyarrow, so it must not share an environment with anything else.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$here/../../build/deps/pypaimon-venv
mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9
sum=$(sha256sum <"$here/requirements.txt" | cut -d' ' -f1)
if [ -f "$venv/.stamp" ] && [ "$(cat "$venv/.stamp")" = "$sum" ]; then
  exit 0
fi
rm -rf "$venv"
python3 -m venv "$venv" || {
  echo "error: cannot make a venv; run: apt-get install -y --no-install-recommends python3-venv" >&2
  exit 1
}
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --only-binary :all: \
  --require-hashes -r "$here/requirements.txt"
echo "$sum" >"$venv/.stamp"
