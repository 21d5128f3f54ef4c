# expect: ok
# Descriptors that were never given out.
import os

for fd in (-1, -(2**31), 3, 4, 5, 99, 1000, 65535, 2**31 - 1):
    for call in (os.close, os.fstat, lambda f: os.read(f, 1), lambda f: os.write(f, b"x"), os.fsync, lambda f: os.lseek(f, 0, 0), lambda f: os.ftruncate(f, 1)):
        try:
            call(fd)
        except (OSError, OverflowError, ValueError):
            pass
print("done")
