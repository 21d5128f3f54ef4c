#!/bin/bash
# Optimises and strips a linked guest. Runs inside the build root. finish.sh IN OUT
set -euo pipefail
. /build/recipe/env.sh
wasm-opt $WASM_OPT "$1" -o "$1.opt"
llvm-strip-19 --strip-all "$1.opt" -o "$2"
