#!/bin/bash
# Installs the Debian packages that building and testing need. As root it runs apt-get; otherwise it
# prints the one line to run and fails. Does nothing, quickly, when everything is there.
set -euo pipefail

PACKAGES=(
  g++ cmake ninja-build ccache mold git make python3 python3-pip python3-venv
  libgtest-dev libgmock-dev libbenchmark-dev librapidcheck-dev
  libfmt-dev nlohmann-json3-dev libcli11-dev libedit-dev
  libzstd-dev liblz4-dev libsnappy-dev libxxhash-dev zlib1g-dev libroaring-dev
  clang-16 libclang-rt-16-dev clang-tidy-16 lld-16
  pkg-config
)
# Node, Java and Maven often come from elsewhere, so their commands count, not the packages.
command -v npm >/dev/null || PACKAGES+=(npm)
command -v javac >/dev/null || PACKAGES+=(openjdk-17-jdk-headless)
command -v mvn >/dev/null || PACKAGES+=(maven)

missing=()
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${PACKAGES[@]}" 2>/dev/null |
  awk '$1 == "installed" { print $2 }' || true)
for package in "${PACKAGES[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

line="apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" -ne 0 ]; then
  echo "error: Debian packages are missing. Run this once, then try again:" >&2
  echo "  sudo apt-get update && sudo $line" >&2
  exit 1
fi
echo "installing ${#missing[@]} Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o DPkg::Lock::Timeout=600 update >/dev/null
apt-get -q -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "${missing[@]}" >/dev/null
