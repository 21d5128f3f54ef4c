# expect: ok
import os

for name in ("x" * 100_000, "a/" * 50_000 + "b", "", "\0", "a\0b", "\ud800", "\udcff", "con", ".", "..", "/", "//", "./././x", "x/", "\n", "ä" * 300):
    try:
        with open(name, "w") as f:
            f.write("x")
        os.remove(name)
    except (OSError, ValueError) as err:
        print(repr(name[:10]), type(err).__name__)
