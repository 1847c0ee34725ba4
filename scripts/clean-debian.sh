#!/usr/bin/env bash
# Tries Tessera out on a clean Debian: a system of the smallest kind in a folder, without anything of this machine.
#
#   scripts/clean-debian.sh SUITE [DEB] [WHEEL]    as root; SUITE: bookworm (12) or trixie (13)
#
# DEB is installed by apt, runs `solve`, and a project is built on it. WHEEL is installed by pip. Then `pip install .` of
# the sources that are committed, in one command, where nothing but a compiler, Python and the header of xxHash is there: ten minutes on two cores.
# After each, tests/python/clean_machine.py. Needs mmdebstrap, a mirror of Debian and a package index; DEBIAN_MIRROR and
# CA_FILE name others. TESSERA_CLEAN_ROOT keeps the folder; TESSERA_CLEAN_SOURCES=0 leaves the sources out.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=${1:?usage: scripts/clean-debian.sh SUITE [DEB] [WHEEL]}
deb=${2:-} wheel=${3:-}
mirror=${DEBIAN_MIRROR:-}  # empty: that of mmdebstrap
certificates=${CA_FILE:-/etc/ssl/certs/ca-certificates.crt}
for file in $deb $wheel; do [ -s "$file" ] || { echo "$file is not there" >&2; exit 2; }; done
command -v mmdebstrap >/dev/null || scripts/install-dependencies.sh mmdebstrap

work=$(mktemp -d)
root=${TESSERA_CLEAN_ROOT:-$work/root}
clean_up() {
  umount "$root/proc" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT
step() { printf '\n== %s %s: %s (at %d s)\n' "$suite" "$(cat "$root/etc/debian_version" 2>/dev/null)" "$1" "$SECONDS"; }
inside() { chroot "$root" env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  ${cert_variables[@]+"${cert_variables[@]}"} bash -euo pipefail -c "$1"; }
apt_install() { inside "apt-get -qq update && apt-get -qq -y --no-install-recommends install $* >/dev/null"; }

step "the smallest system"
[ -d "$root/etc" ] || mmdebstrap --quiet --variant=minbase --include=ca-certificates "$suite" "$root" ${mirror:+"$mirror"}
mount -t proc proc "$root/proc"
cp /etc/resolv.conf "$root/etc/resolv.conf"
cert_variables=()
if [ -s "$certificates" ]; then  # a proxy may have certificates of its own
  cp "$certificates" "$root/etc/ssl/certs/ca-certificates.crt"
  cert_variables=(SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt PIP_CERT=/etc/ssl/certs/ca-certificates.crt)
fi

if [ -n "$deb" ]; then
  step "apt install $(basename "$deb")"
  cp "$deb" "$root/root/tessera.deb"
  apt_install /root/tessera.deb
  inside "solve --poisson2d 100 && solve --version && test -s /usr/share/man/man1/solve.1.gz"
  apt_install g++ cmake make zlib1g-dev libfmt-dev
  cp -r tests/install/consumer "$root/root/consumer"
  inside "cmake -S /root/consumer -B /tmp/consumer >/dev/null && cmake --build /tmp/consumer >/dev/null && /tmp/consumer/consumer"
fi

python_samples() {
  cp tests/python/clean_machine.py "$root/root/"
  inside "$1/bin/pip install --quiet networkx && cd /root && $1/bin/python clean_machine.py"
}

apt_install python3-venv
if [ -n "$wheel" ]; then
  step "pip install $(basename "$wheel")"
  cp "$wheel" "$root/root/"
  inside "python3 -m venv /root/wheel && /root/wheel/bin/pip install --quiet /root/$(basename "$wheel")"
  python_samples /root/wheel
fi

[ "${TESSERA_CLEAN_SOURCES:-1}" = 1 ] || exit 0
step "pip install . of the sources"
apt_install g++ python3-dev libxxhash-dev
mkdir -p "$root/root/tessera"
git archive HEAD | tar -x -C "$root/root/tessera"
inside "python3 -m venv /root/sources && cd /root/tessera && /root/sources/bin/pip install ."
python_samples /root/sources
step "done"
