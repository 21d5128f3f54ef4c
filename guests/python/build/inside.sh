#!/bin/bash
# Builds the guest inside the build root, from unpacked sources to /build/out/python.wasm.
set -euo pipefail
. /build/recipe/env.sh

unpack() {
  rm -rf "$PYSRC" "$WORK" "$PREFIX"
  mkdir -p "$WORK" /build/out
  # With Debian's own patches, which carry the security fixes.
  dpkg-source --no-check -x "$SRC"/python3.13_*.dsc "$PYSRC" > /dev/null
  (cd "$PYSRC" && for p in "$RECIPE"/patches/*.patch; do
     echo "applying $(basename "$p")"
     patch -p1 -s -N -F0 --no-backup-if-mismatch < "$p"
   done)
}

case ${1:-build} in
build)
  unpack
  bash "$RECIPE/libs.sh"
  xz -dc "$RECIPE/profile.profdata.xz" > "$WORK/profile.profdata"
  bash "$RECIPE/cpython.sh" "$WORK/cpython" $PGO_FLAGS $LTO_FLAGS
  bash "$RECIPE/link.sh" "$WORK/cpython" "$WORK/linked.wasm" $LTO_LINK
  bash "$RECIPE/finish.sh" "$WORK/linked.wasm" /build/out/python.wasm
  zstd -q -f -T1 --ultra -22 /build/out/python.wasm -o /build/out/python.wasm.zst
  ;;
profile)
  unpack
  bash "$RECIPE/profile.sh" "$WORK/profile.profdata"
  xz -9e -T1 -c "$WORK/profile.profdata" > /build/out/profile.profdata.xz
  ;;
*)
  echo "inside.sh: build or profile" >&2
  exit 2
  ;;
esac
