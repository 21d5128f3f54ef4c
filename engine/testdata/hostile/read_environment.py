# expect: ok
import os
import sys

allowed = {"HOME", "PATH", "PWD", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER"}
names = {n for n in os.environ if n not in allowed and not n.startswith("PYTHON")}
assert not names, names
assert not [n for n in dir(sys.flags) if n == "host"]
print(sys.platform)
