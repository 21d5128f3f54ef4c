"""Imports from several threads at once."""

import os
import sys
import threading
import time

errors = []


def run(n, target):
    def guarded(i):
        try:
            target(i)
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors


# Modules of the standard library, by all threads in different orders.
names = ["xml.dom.minidom", "html.parser", "zipfile", "tarfile", "configparser", "email.message", "sqlite3", "optparse"]


def import_all(i):
    for name in names[i:] + names[:i]:
        __import__(name)
        assert hasattr(sys.modules[name], "__name__")


run(8, import_all)

# A module that takes its time is run once, and nobody sees it half done.
with open("slow_module.py", "w") as f:
    f.write("import time\nimport builtins\nbuiltins.runs = getattr(builtins, 'runs', 0) + 1\n")
    f.write("time.sleep(0.05)\nvalue = 42\n")
sys.path.insert(0, os.getcwd())
values = []


def import_slow(_):
    import slow_module

    values.append(slow_module.value)


run(10, import_slow)
assert values == [42] * 10 and runs == 1  # noqa: F821

# A circular import from both ends at once does not deadlock.
for name, other in (("circular_a", "circular_b"), ("circular_b", "circular_a")):
    with open(f"{name}.py", "w") as f:
        f.write(f"import time\ntime.sleep(0.02)\nimport {other}\nname = {name!r}\n")
run(2, lambda i: __import__(("circular_a", "circular_b")[i]))
assert sys.modules["circular_a"].circular_b.name == "circular_b"

# One that fails can be tried again. Those that waited for it get what there is, as in CPython.
with open("failing.py", "w") as f:
    f.write("import time\ntime.sleep(0.01)\n1 / 0\n")
failed = []


def import_failing(_):
    try:
        import failing

        assert failing.__name__ == "failing"
    except ZeroDivisionError:
        failed.append(True)


run(4, import_failing)
assert failed and "failing" not in sys.modules
failed.clear()
import_failing(0)
assert failed == [True]

# A module that starts a thread which imports.
with open("starts.py", "w") as f:
    f.write("import threading\n")
    f.write("t = threading.Thread(target=lambda: __import__('calendar'))\nt.start()\nt.join()\n")
sys.modules.pop("calendar", None)
import starts  # noqa: E402, F401

for name in ("slow_module", "circular_a", "circular_b", "failing", "starts"):
    os.remove(f"{name}.py")
time.sleep(0)
