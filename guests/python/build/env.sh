# Settings that every step inside the build root shares. Everything lies below fixed paths, so that no path of the
# machine can get into an object file.
export LC_ALL=C.UTF-8 TZ=UTC HOME=/build
export SOURCE_DATE_EPOCH=1751328000   # 2025-07-01; what __DATE__, __TIME__ and archive members see
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 ZERO_AR_DATE=1
export SRC=/src WORK=/build/work PREFIX=/build/prefix RECIPE=/build/recipe PYSRC=/build/py
export AR=llvm-ar-19 RANLIB=llvm-ranlib-19 NM=llvm-nm-19 READELF=llvm-readelf-19
JOBS=${JOBS:-2}
BUILD_NAME=cpython-3.13.5

# wasm32-wasi, not -wasip1: Debian has compiler-rt under lib/wasi only.
export TARGET="--target=wasm32-wasi -mbulk-memory -mnontrapping-fptoint -msign-ext"
FIX="-ffile-prefix-map=/build=."
export OPT_FLAGS="-DNDEBUG -fwrapv -O3 -Wall"
export PGO_FLAGS="-fprofile-instr-use=$WORK/profile.profdata -Wno-profile-instr-unprofiled -Wno-profile-instr-out-of-date -Wno-backend-plugin"
export LTO_FLAGS="-flto"
# Without -O here: with it clang would run wasm-opt by itself, which cuts the data into tens of thousands of segments.
export LTO_LINK="-flto -Wl,--lto-O3 -Wl,-O3"
export STACK_SIZE=8388608
# memory-packing would cut the frozen library into tens of thousands of data segments.
export WASM_OPT="--enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals --enable-multivalue --enable-reference-types --skip-pass=memory-packing -O2 --strip-debug --strip-producers"
