"""Queues of all kinds."""

import queue
import threading
import time


def run(*targets):
    threads = [threading.Thread(target=t) for t in targets]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def raises(error, do, *args, **kwargs):
    try:
        do(*args, **kwargs)
    except error:
        return True
    return False


# Two producers, two consumers, and room for five.
q = queue.Queue(maxsize=5)
out = []


def produce(k):
    for i in range(200):
        q.put((k, i))
    q.put(None)


def consume():
    while (item := q.get()) is not None:
        out.append(item)
        q.task_done()
    q.task_done()


run(lambda: produce(0), lambda: produce(1), consume, consume)
q.join()
assert sorted(out) == [(k, i) for k in range(2) for i in range(200)]
assert [i for k, i in out if k == 0] != [] and q.empty()

# Limits.
begin = time.monotonic()
assert raises(queue.Empty, q.get, timeout=0.03)
assert time.monotonic() - begin >= 0.025
assert raises(queue.Empty, q.get_nowait) and raises(queue.Empty, q.get, block=False)
for i in range(5):
    q.put_nowait(i)
assert q.full() and raises(queue.Full, q.put, 5, timeout=0.01) and raises(queue.Full, q.put_nowait, 5)
assert [q.get() for _ in range(5)] == [0, 1, 2, 3, 4]
assert raises(ValueError, lambda: [q.task_done() for _ in range(6)])

# join() waits until everything is done.
q = queue.Queue()
done = []


def slow_worker():
    while True:
        done.append(q.get())
        time.sleep(0.002)
        q.task_done()


for _ in range(3):
    threading.Thread(target=slow_worker, daemon=True).start()
for i in range(30):
    q.put(i)
q.join()
assert sorted(done) == list(range(30))

# Last in first out, and by priority.
stack = queue.LifoQueue()
heap = queue.PriorityQueue()
for i in (3, 1, 2):
    stack.put(i)
    heap.put((i, str(i)))
assert [stack.get() for _ in range(3)] == [2, 1, 3]
assert [heap.get()[1] for _ in range(3)] == ["1", "2", "3"]

# SimpleQueue is written in C.
simple = queue.SimpleQueue()
threading.Timer(0.02, simple.put, ("late",)).start()
assert simple.get(timeout=30) == "late"
assert raises(queue.Empty, simple.get, timeout=0.01) and raises(queue.Empty, simple.get_nowait)
back = queue.SimpleQueue()
run(lambda: [back.put(simple.get()) for _ in range(500)], lambda: [simple.put(i) for i in range(500)])
assert [back.get() for _ in range(500)] == list(range(500))

# Shut down, a queue sends its waiters away.
q = queue.Queue()
ended = []


def until_shutdown():
    try:
        while True:
            q.get()
    except queue.ShutDown:
        ended.append(True)


threads = [threading.Thread(target=until_shutdown) for _ in range(3)]
for t in threads:
    t.start()
q.put(1)
time.sleep(0.005)
q.shutdown()
for t in threads:
    t.join()
assert ended == [True] * 3 and raises(queue.ShutDown, q.put, 2)
