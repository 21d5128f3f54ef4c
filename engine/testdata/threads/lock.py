"""Lock and RLock keep others out, for as long as they should."""

import threading
import time


def start(n, target, *args):
    threads = [threading.Thread(target=target, args=args) for _ in range(n)]
    for t in threads:
        t.start()
    return threads


def join(threads):
    for t in threads:
        t.join()


# A counter that is changed in two steps, with a switch in between.
count = 0
lock = threading.Lock()


def increment(times):
    global count
    for _ in range(times):
        with lock:
            old = count
            time.sleep(0)
            count = old + 1


join(start(10, increment, 100))
assert count == 1000 and not lock.locked()

# Without waiting, and waiting for some time.
assert lock.acquire()
assert lock.locked() and not lock.acquire(blocking=False)
begin = time.monotonic()
assert not lock.acquire(timeout=0.05)
assert 0.045 <= time.monotonic() - begin < 2
for bad in (lambda: lock.acquire(False, 1), lambda: lock.acquire(timeout=-2)):
    try:
        bad()
    except ValueError:
        pass
    else:
        raise AssertionError("no ValueError")

# Another thread may release it; a waiter with a time limit gets it then.
threading.Timer(0.02, lock.release).start()
assert lock.acquire(timeout=30)
lock.release()
try:
    lock.release()
except RuntimeError:
    pass
else:
    raise AssertionError("a lock that is free was released")

# An RLock belongs to its thread.
r = threading.RLock()
with r, r, r:
    got = []
    join(start(1, lambda: got.append(r.acquire(blocking=False))))
    assert got == [False]


def foreign():
    try:
        r.release()
    except RuntimeError:
        got.append("refused")


r.acquire()
join(start(1, foreign))
assert got == [False, "refused"]
r.release()
join(start(1, lambda: got.append(r.acquire(blocking=False)) or r.release()))
assert got[-1] is True


# Recursion with an RLock in many threads.
def recurse(n):
    global count
    with r:
        count += 1
        if n:
            recurse(n - 1)


count = 0
join(start(8, recurse, 49))
assert count == 400

# Many waiters all get their turn.
order = []
lock.acquire()


def queue_up(*_):
    with lock:
        order.append(threading.get_ident())


threads = start(50, queue_up)
lock.release()
join(threads)
assert len(set(order)) == len(order) == 50
