"""A thread that computes lets others have their turn."""

import json
import re
import threading
import time

stop = False


def python():
    while not stop:
        pass


def dumps():
    data = list(range(2000))
    while not stop:
        json.loads(json.dumps(data))


def backtrack():
    while not stop:
        re.match(r"(a+)+$", "a" * 16 + "b")


def integers():
    n = 3**2000
    while not stop:
        str(n)


def sort():
    data = [(i * 7919) % 10_007 for i in range(3000)]
    while not stop:
        sorted(data)


def lateness(busy):
    """Returns by how many seconds sleeps were late beside a busy thread, the median of 20."""
    global stop
    stop = False
    t = threading.Thread(target=busy)
    t.start()
    late = []
    for _ in range(20):
        begin = time.monotonic()
        time.sleep(0.005)
        late.append(time.monotonic() - begin - 0.005)
    stop = True
    t.join()
    return sorted(late)[10]


for busy in (python, dumps, backtrack, integers, sort):
    assert lateness(busy) < 0.2, busy.__name__

# Threads that compute share the time.
counts = [0, 0, 0]


def count(i):
    while not stop:
        counts[i] += 1


stop = False
threads = [threading.Thread(target=count, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
time.sleep(0.6)
stop = True
for t in threads:
    t.join()
assert min(counts) * 4 > max(counts), counts

# The main thread gives way as well.
fired = []
begin = time.monotonic()
threading.Timer(0.05, lambda: fired.append(time.monotonic() - begin)).start()
while not fired:
    pass
assert fired[0] < 0.5, fired
