#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that Tessera is built from, if any is missing. Does nothing on a prepared machine.
# CUDA is optional and not installed: where nvcc is on the PATH, the build uses it.
#
#   scripts/install-dependencies.sh [PACKAGE...]     PACKAGEs: further ones
set -euo pipefail

packages=(
  g++ ninja-build cmake git ccache
  libeigen3-dev libfmt-dev libgtest-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev
  zlib1g-dev libxxhash-dev pkg-config python3-jsonschema
  libzstd-dev libminizip-dev libmatio-dev
  libmetis5  # no part of the build: --ordering metis loads it where it is installed
  "$@"
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "This is not a Debian or Ubuntu system. Install the equivalents of: ${missing[*]}" >&2
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "Run as root, or install sudo: missing packages ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "Installing: ${missing[*]}"
# Another process may hold apt's lock, as the daily update of a fresh machine does: wait for it.
wait=(-o DPkg::Lock::Timeout=300)
"${as_root[@]}" apt-get "${wait[@]}" update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${wait[@]}" install -y -qq --no-install-recommends "${missing[@]}"
