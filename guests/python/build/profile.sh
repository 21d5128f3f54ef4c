#!/bin/bash
# Makes the profile: builds CPython natively with instrumentation, runs the training programs and merges the counters.
# Runs inside the build root. profile.sh OUT
#
# The counters are keyed by function and control flow, not by target, so they fit the WebAssembly build of the same
# sources. What differs (pointer size, libmpdec's configuration) simply stays without a profile.
set -euo pipefail
. /build/recipe/env.sh
OUT=$1 B=$WORK/native
mkdir -p "$B"; cd "$B"
export CC=clang-19 CXX=clang++-19 MODULE_BUILDTYPE=static
export CFLAGS="-Wno-unused-command-line-argument $FIX -DMAYFLY_STACK_SIZE=$STACK_SIZE" OPT="-DNDEBUG -fwrapv -O1"
if [ ! -e Makefile ]; then
  "$PYSRC/configure" --prefix=/usr --disable-test-modules --without-ensurepip --with-pymalloc --without-mimalloc \
    --enable-big-digits=30 --without-computed-gotos
fi
make -j"$JOBS" CFLAGS_NODIST="-fprofile-instr-generate" LDFLAGS_NODIST="-fprofile-instr-generate" python pybuilddir.txt
# Interpreter start and make's own runs are no part of the training.
rm -rf raw; mkdir raw
for t in "$RECIPE"/train/*.py; do
  LLVM_PROFILE_FILE=$B/raw/$(basename "$t" .py).profraw \
    ./python -B -X frozen_modules=on -I -S "$t" > /dev/null
done
llvm-profdata-19 merge -o "$OUT" raw/*.profraw
ls -la "$OUT"
