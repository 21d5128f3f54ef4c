"""The life of a Thread: start, join, names, idents, what it refuses."""

import threading
import time


def refuses(error, do, *args):
    try:
        do(*args)
    except error:
        return True
    return False


# Five threads do their work and are gone.
results = []
threads = [threading.Thread(target=lambda i=i: results.append(i * i)) for i in range(5)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert sorted(results) == [0, 1, 4, 9, 16]
assert not any(t.is_alive() for t in threads)
assert threading.active_count() == 1

# Names, and what a thread sees of itself.
seen = {}


def look(key, *, extra):
    me = threading.current_thread()
    seen[key] = (me.name, me.ident == threading.get_ident(), threading.get_native_id() != 0, extra)


t = threading.Thread(target=look, args=("a",), kwargs={"extra": 1}, name="named")
assert t.ident is None and not t.is_alive()
t.start()
t.join()
assert seen["a"] == ("named", True, True, 1)
assert t.ident != threading.get_ident() == threading.main_thread().ident
assert threading.Thread(target=look).name.endswith("(look)")
t.name = "renamed"
assert t.name == "renamed"


# A subclass.
class Doubler(threading.Thread):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def run(self):
        self.n *= 2


doublers = [Doubler(i) for i in range(10)]
for t in doublers:
    t.start()
for t in doublers:
    t.join()
assert [t.n for t in doublers] == list(range(0, 20, 2))

# join() with a time limit, enumerate().
go = threading.Event()
t = threading.Thread(target=go.wait)
t.start()
begin = time.monotonic()
t.join(0.05)
assert t.is_alive() and time.monotonic() - begin >= 0.045
assert set(threading.enumerate()) == {threading.main_thread(), t}
go.set()
t.join()
t.join()  # again is allowed

# What cannot be done.
assert refuses(RuntimeError, t.start)
assert refuses(RuntimeError, threading.Thread().join)
assert refuses(RuntimeError, threading.current_thread().join)
t = threading.Thread(target=go.wait)
go.clear()
t.start()
assert refuses(RuntimeError, setattr, t, "daemon", True)
go.set()
t.join()

# Threads start threads, and each waits for its own.
depth = []


def nest(n):
    depth.append(n)
    if n:
        child = threading.Thread(target=nest, args=(n - 1,))
        child.start()
        child.join()


nest(20)
assert depth == list(range(20, -1, -1))

# Stack sizes.
assert threading.stack_size() == 0
for size in (64 << 10, 256 << 10, 4 << 20):
    threading.stack_size(size)
    t = threading.Thread(target=lambda: results.append(sum(range(100))))
    t.start()
    t.join()
    assert threading.stack_size() == size and results.pop() == 4950
threading.stack_size(0)
assert refuses(ValueError, threading.stack_size, 100)
