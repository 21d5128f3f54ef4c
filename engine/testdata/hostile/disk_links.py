# expect: ok
# Symbolic links to very deep places, one to the next: a single call to follow them must not take long.
import os
import time

path = "/tmp"
for _ in range(1000):
    path += "/a"
    os.mkdir(path)
for i in range(39):
    os.symlink(f"{path}/l{i + 1}", f"{path}/l{i}")
start = time.monotonic()
try:
    os.stat(f"{path}/l0")
except OSError as err:
    print(err.errno)
else:
    raise AssertionError("there is no file at the end")
print(time.monotonic() - start)
assert time.monotonic() - start < 0.5
