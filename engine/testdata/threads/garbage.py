"""Garbage collection, weak references and finalizers with threads."""

import gc
import threading
import time
import weakref


class Node:
    pass


def run(n, target):
    threads = [threading.Thread(target=target) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


# Cycles in all threads, with collections in between.
dead = []


def make_cycles():
    for k in range(1500):
        a, b = Node(), Node()
        a.other, b.other = b, a
        if k % 500 == 0:
            weakref.finalize(a, dead.append, k)
            gc.collect()
            time.sleep(0)


run(6, make_cycles)
gc.collect()
assert sorted(dead) == sorted([0, 500, 1000] * 6)


# __del__ that switches threads, in the middle of a collection.
class Slow:
    count = 0

    def __init__(self):
        self.me = self

    def __del__(self):
        time.sleep(0.0005)
        Slow.count += 1


def make_slow():
    for _ in range(20):
        Slow()
        gc.collect(0)


run(4, make_slow)
gc.collect()
assert Slow.count == 80, Slow.count

# A weak dictionary that one thread fills while others look.
cache = weakref.WeakValueDictionary()
stop = threading.Event()
errors = []


def look():
    try:
        while not stop.is_set():
            for i in range(0, 2000, 50):
                assert isinstance(cache.get(i), Node | None)
            time.sleep(0)
    except BaseException as exc:
        errors.append(exc)


threads = [threading.Thread(target=look) for _ in range(3)]
for t in threads:
    t.start()
keep = []
for i in range(2000):
    node = Node()
    cache[i] = node
    if i % 100 == 0:
        keep.append(node)
        time.sleep(0)
stop.set()
for t in threads:
    t.join()
del node
gc.collect()
assert not errors and len(cache) == 20, (errors, len(cache))

# A thread's objects, and the thread itself, go when it ends.
ref = []


def local_object():
    node = Node()
    node.me = node
    ref.append(weakref.ref(node))


t = threading.Thread(target=local_object)
ref.append(weakref.ref(t))
t.start()
t.join()
del t
gc.collect()
assert [r() for r in ref] == [None, None]

# The memory grows while others stand still with theirs.
go = threading.Event()
same = []


def hold():
    data = bytes(range(256)) * 400
    go.wait(60)
    same.append(data == bytes(range(256)) * 400)


threads = [threading.Thread(target=hold) for _ in range(5)]
for t in threads:
    t.start()
big = bytearray(100 << 20)
go.set()
for t in threads:
    t.join()
assert same == [True] * 5
