#!/bin/bash
# Freezes the standard library, compiles the reactor and links the guest. Runs inside the build root.
# link.sh DIR OUT [extra link flags]: DIR is CPython's build directory.
set -euo pipefail
. /build/recipe/env.sh
B=$1 OUT=$2; shift 2
CC="clang-19 $TARGET"
R=$WORK/reactor
rm -rf "$R"; mkdir -p "$R"; cd "$R"
python3.13 "$RECIPE/genfrozen.py" "$PYSRC/Lib" "$B/$(cat "$B/pybuilddir.txt")" /usr/share/zoneinfo .
$CC -c blob.S -o blob.o
I="$FIX -I$PYSRC/Include -I$PYSRC/Include/internal -I$B"
$CC -O2 $I -c frozen.c -o frozen.o
cp "$RECIPE/reactor.c" .
$CC -O3 -DNDEBUG -fwrapv -Wall -Wextra $I "-DMAYFLY_BUILD=\"$BUILD_NAME\"" -c reactor.c -o reactor.o
LIBS=$(printf 'include Makefile\nprint-libs: ; @echo $(LIBS) $(MODLIBS) $(SYSLIBS)\n' | make -s -C "$B" -f - print-libs)
cd "$B"
$CC -mexec-model=reactor -z stack-size=$STACK_SIZE -Wl,--stack-first -Wl,--initial-memory=50331648 -Wl,--gc-sections \
  -Wl,--export=__stack_pointer \
  -o "$OUT" "$R/reactor.o" "$R/frozen.o" "$R/blob.o" libpython3.13.a $LIBS "$@"
