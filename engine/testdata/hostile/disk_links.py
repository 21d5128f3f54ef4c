# expect: ok
# Symbolic links to very deep places, one to the next: a single call that nothing interrupts must not follow them all.
import errno
import os

path = "/tmp"
for _ in range(1000):
    path += "/a"
    os.mkdir(path)
for i in range(39):
    os.symlink(f"{path}/l{i + 1}", f"{path}/l{i}")
try:
    os.stat(f"{path}/l0")
except OSError as err:
    assert err.errno in (errno.ELOOP, errno.ENAMETOOLONG), err
else:
    raise AssertionError("there is no file at the end")
