"""multiprocessing.Process: a copy of everything, and nothing shared."""

import multiprocessing
import os
import sys
import time

value = [1]


def change():
    value.append(2)
    print("<1:" + "x" * 60 + ">")
    assert multiprocessing.current_process().name == "changer"
    assert multiprocessing.parent_process() is not None


p = multiprocessing.Process(target=change, name="changer")
assert not p.is_alive() and p.exitcode is None
p.start()
p.join()
assert p.exitcode == 0 and not p.is_alive() and value == [1], (p.exitcode, value)
p.close()

for function, code in ((lambda: sys.exit(3), 3), (sys.exit, 0), (lambda: os._exit(4), -9)):
    p = multiprocessing.Process(target=function)
    p.start()
    p.join()
    assert p.exitcode == code, (p.exitcode, code)

p = multiprocessing.Process(target=time.sleep, args=(100,))
p.start()
p.join(0.01)
assert p.is_alive() and p.exitcode is None and p in multiprocessing.active_children()
p.terminate()
p.join()
assert p.exitcode == -15, p.exitcode


class Worker(multiprocessing.Process):
    def run(self):
        assert self.name == "worker" and self.daemon
        with open("/workspace/from-worker", "w") as f:
            f.write("hello")


p = Worker(name="worker", daemon=True)
p.start()
p.join()
assert p.exitcode == 0
with open("/workspace/from-worker") as f:
    assert f.read() == "hello"

# An open file is the same in both, as after fork().
with open("/workspace/log", "w") as f:
    f.write("first\n")
    f.flush()

    def write():
        other = open("/workspace/other", "w")  # must not get the descriptor of f
        other.write("other")
        other.close()
        f.write("second\n")
        f.flush()

    p = multiprocessing.Process(target=write)
    p.start()
    p.join()
    assert p.exitcode == 0
    f.write("third\n")
with open("/workspace/log") as f:
    assert f.read() == "first\nsecond\nthird\n"

# A process cannot start others.
nested = []


def start():
    try:
        multiprocessing.Process(target=int).start()
    except RuntimeError as exc:
        sys.exit(0 if "no process" in str(exc) else 1)


p = multiprocessing.Process(target=start)
p.start()
p.join()
assert p.exitcode == 0, p.exitcode
