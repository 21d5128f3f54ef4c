#!/bin/bash
# Builds the C libraries that CPython links: zlib, bzip2, liblzma, SQLite. Runs inside the build root.
set -euo pipefail
. /build/recipe/env.sh
mkdir -p "$PREFIX/lib" "$PREFIX/include" "$WORK/libs"
cd "$WORK/libs"
F="$FIX -DNDEBUG"

tar xf "$SRC"/zlib_*.orig.tar.gz
(cd zlib-*
 CC="clang-19 $TARGET" CFLAGS="-O3 $F" CHOST=wasm32 ./configure --static --prefix="$PREFIX"
 make -j"$JOBS" libz.a
 make install)

tar xf "$SRC"/bzip2_*.orig.tar.gz
(cd bzip2-*
 echo 'void bz_internal_error(int e){(void)e;__builtin_trap();}' > bzstub.c
 O=
 for f in blocksort huffman crctable randtable compress decompress bzlib bzstub; do
   clang-19 $TARGET -O3 $F -DBZ_NO_STDIO -c $f.c
   O="$O $f.o"
 done
 $AR rcsD "$PREFIX/lib/libbz2.a" $O
 cp bzlib.h "$PREFIX/include")

tar xf "$SRC"/xz-utils_*.orig.tar.xz
(cd xz-*
 CC="clang-19 $TARGET" CFLAGS="-O2 $F" ./configure --host=wasm32-wasi --prefix="$PREFIX" \
   --disable-shared --enable-threads=no --disable-xz --disable-xzdec --disable-lzmadec \
   --disable-lzmainfo --disable-scripts --disable-doc --disable-nls
 make -C src/liblzma -j"$JOBS" install)

# The full source tree, because Debian ships no amalgamation; tclsh makes it.
mkdir -p sqlite
tar xf "$SRC"/sqlite3_*.orig.tar.xz -C sqlite --strip-components=1
(cd sqlite
 env -u AR -u RANLIB -u NM CC=gcc ./configure --disable-tcl
 make sqlite3.c
 # Serialized, with the mutexes of libpython. No WAL (needs shared memory), no extensions (need dlopen),
 # no threads of its own for sorting (they would need stacks, and there is one processor).
 clang-19 $TARGET -O2 $F -include "$RECIPE/sqlite-wasi.h" -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION \
   -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_FTS4 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_MATH_FUNCTIONS \
   -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_OMIT_WAL -DSQLITE_DEFAULT_MEMSTATUS=0 \
   -DSQLITE_TEMP_STORE=2 -DSQLITE_MAX_WORKER_THREADS=0 -DSQLITE_DEFAULT_UNIX_VFS='"unix"' \
   -D_WASI_EMULATED_GETPID -D_WASI_EMULATED_MMAN -c sqlite3.c
 $AR rcsD "$PREFIX/lib/libsqlite3.a" sqlite3.o
 cp sqlite3.h "$PREFIX/include")
