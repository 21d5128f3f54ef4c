#!/bin/bash
# Builds the CPython guest in a clean Debian root.
#
#   build.sh             into the directory above this one: python.wasm.zst and PROVENANCE.json
#   build.sh --out DIR   into DIR
#   build.sh --profile   makes profile.profdata.xz anew, from the training programs in train/
#
# Needs root, mmdebstrap and about 3 GB below MAYFLY_BUILD_DIR (default: a directory in /var/tmp, removed at the end).
#   MAYFLY_DEBIAN_MIRROR  where packages and sources come from; a dated snapshot makes old versions available
#   MAYFLY_ALLOW_DRIFT=1  accept packages that sources.lock does not name, and record them there
#   JOBS                  parallel compilations (default: the number of processors)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(dirname "$here") mode=build
while [ $# -gt 0 ]; do
  case $1 in
  --out) out=$2; shift 2 ;;
  --profile) mode=profile; shift ;;
  *) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done
say() { echo "guests/python: $*" >&2; }
die() { say "$*"; exit 1; }
[ "$(id -u)" = 0 ] || die "must run as root (it makes a Debian root and changes into it)"
for tool in mmdebstrap chroot sha256sum; do
  command -v $tool > /dev/null || die "$tool is missing"
done

suite=trixie
lock=$here/sources.lock
if [ -n "${MAYFLY_BUILD_DIR:-}" ]; then
  work=$MAYFLY_BUILD_DIR
  mkdir -p "$work"
else
  work=$(mktemp -d /var/tmp/mayfly-python.XXXXXX)
  trap 'rm -rf "$work"' EXIT
fi
root=$work/root
rm -rf "$root"

tools="clang-19 lld-19 llvm-19 wasi-libc libclang-rt-19-dev-wasm32 libclang-rt-19-dev binaryen python3.13
  libpython3.13-stdlib make pkgconf dpkg-dev xz-utils zstd patch gcc libc6-dev tcl tzdata tzdata-legacy"
# Those of them, and of what they pull in, that have a say in the bytes.
locked_tools="clang-19 libclang-common-19-dev libclang-cpp19 libllvm19 llvm-19 lld-19 wasi-libc
  libclang-rt-19-dev-wasm32 libclang-rt-19-dev binaryen python3.13 python3.13-minimal libpython3.13-stdlib
  libpython3.13-minimal tzdata tzdata-legacy tcl8.6 gcc-14 zstd xz-utils"

# ---- the root

mirror=${MAYFLY_DEBIAN_MIRROR:-}
if [ -z "$mirror" ] && command -v apt-get > /dev/null; then
  # The mirror that this machine's own apt uses, if it is a Debian.
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' 2> /dev/null |
    awk '$2 == "Debian" { print $1; exit }')
fi
say "making a Debian $suite root in $root"
set -- --variant=apt --aptopt='Acquire::Check-Valid-Until "false"' --include="$(echo $tools | tr ' ' ,)" $suite "$root"
[ -z "$mirror" ] || set -- "$@" "deb $mirror $suite main"
mmdebstrap --quiet "$@"
sed -n 's/^deb /deb-src /p' "$root/etc/apt/sources.list" > "$root/etc/apt/sources.list.d/src.list"

inside() {
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin JOBS="${JOBS:-$(nproc)}" chroot "$root" "$@"
}

say "fetching the sources"
mkdir -p "$root/src" "$root/build/out"
inside sh -ec 'apt-get -qq update
  cd /src
  apt-get -qq source --download-only python3.13
  for p in zlib bzip2 xz-utils sqlite3; do apt-get -qq source --tar-only --download-only $p; done' > "$work/fetch.log" 2>&1 ||
  { cat "$work/fetch.log" >&2; die "the sources could not be fetched"; }

# ---- what we got, against the lock file

{
  echo "# What the artefact is made from: 'source FILE SHA256' and 'tool PACKAGE VERSION'. Written by build.sh."
  (cd "$root/src" && for f in $(ls | grep -v '\.asc$' | LC_ALL=C sort); do
    echo "source $f $(sha256sum < "$f" | cut -d' ' -f1)"
  done)
  for p in $locked_tools; do
    echo "tool $p $(inside dpkg-query -W -f '${Version}' "$p")"
  done | LC_ALL=C sort
} > "$work/sources.lock"
if ! cmp -s "$lock" "$work/sources.lock"; then
  say "the packages differ from sources.lock (- locked, + found):"
  diff -u "$lock" "$work/sources.lock" | grep '^[-+][a-z]' >&2 || true
  if [ "${MAYFLY_ALLOW_DRIFT:-}" = 1 ]; then
    cp "$work/sources.lock" "$lock"
    say "MAYFLY_ALLOW_DRIFT=1: recorded them, going on"
  else
    die "Debian has moved on, so the artefact cannot be rebuilt bit by bit from this mirror.
Set MAYFLY_DEBIAN_MIRROR to a snapshot that still has the locked versions, or MAYFLY_ALLOW_DRIFT=1 to move to the new ones."
  fi
fi

# ---- the build

mkdir -p "$root/build/recipe"
(cd "$here" && find . -type f ! -path '*/__pycache__/*' ! -name build.sh -print0 | xargs -0 cp --parents -t "$root/build/recipe")
say "building ($mode), log in $work/build.log"
inside bash /build/recipe/inside.sh $mode > "$work/build.log" 2>&1 || { tail -40 "$work/build.log" >&2; die "the build failed"; }
if [ $mode = profile ]; then
  cp "$root/build/out/profile.profdata.xz" "$here/"
  say "wrote $here/profile.profdata.xz"
  exit
fi
inputs=$(sh "$here/inputs-hash.sh")
inside bash -ec ". /build/recipe/env.sh; python3.13 /build/recipe/provenance.py /build/recipe/sources.lock $inputs /build/out" ||
  die "writing the provenance failed"
mkdir -p "$out"
cp "$root/build/out/python.wasm.zst" "$root/build/out/PROVENANCE.json" "$out/"
say "wrote $out/python.wasm.zst: $(stat -c %s "$out/python.wasm.zst") bytes, sha256 $(sha256sum < "$out/python.wasm.zst" | cut -d' ' -f1)"
