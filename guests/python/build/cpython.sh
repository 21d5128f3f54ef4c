#!/bin/bash
# Configures and compiles CPython for WASI. Runs inside the build root.
# cpython.sh DIR [extra compiler flags]: DIR is the build directory.
set -euo pipefail
. /build/recipe/env.sh
B=$1; shift
mkdir -p "$B"; cd "$B"
export CONFIG_SITE=$PYSRC/Tools/wasm/config.site-wasm32-wasi PKG_CONFIG_LIBDIR=$PREFIX/lib/pkgconfig PKG_CONFIG_PATH=
export CC="clang-19 $TARGET" CXX="clang++-19 $TARGET" CPP="clang-cpp-19 --target=wasm32-wasi"
export ZLIB_CFLAGS="-I$PREFIX/include" ZLIB_LIBS="-L$PREFIX/lib -lz"
export BZIP2_CFLAGS="-I$PREFIX/include" BZIP2_LIBS="-L$PREFIX/lib -lbz2"
export LIBLZMA_CFLAGS="-I$PREFIX/include" LIBLZMA_LIBS="-L$PREFIX/lib -llzma"
export LIBSQLITE3_CFLAGS="-I$PREFIX/include" LIBSQLITE3_LIBS="-L$PREFIX/lib -lsqlite3 -lwasi-emulated-mman"
export ac_cv_func_dlopen=no ac_cv_lib_dl_dlopen=no                    # libdl.a has only stubs
export ac_cv_func_clock_nanosleep=no ac_cv_lib_rt_clock_nanosleep=no  # poll_oneoff: relative timeouts only
export CFLAGS="-Wno-unused-command-line-argument $FIX -DMAYFLY_STACK_SIZE=$STACK_SIZE"
export OPT=$OPT_FLAGS
"$PYSRC/configure" --prefix=/usr --host=wasm32-wasip1 --build=x86_64-linux-gnu --with-build-python=/usr/bin/python3.13 \
  --disable-test-modules --without-ensurepip --with-pymalloc --without-mimalloc --enable-big-digits=30 --with-tzpath=/usr/share/zoneinfo
# The profile and -flto belong to the compilation only, not to configure's tests.
make -j"$JOBS" OPT="$OPT $*" libpython3.13.a Modules/_decimal/libmpdec/libmpdec.a Modules/expat/libexpat.a \
  Modules/_hacl/libHacl_Hash_SHA2.a pybuilddir.txt
