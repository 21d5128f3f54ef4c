"""The module _thread, below threading."""

import _thread
import time

lock = _thread.allocate_lock()
assert lock.acquire() and not lock.acquire(False) and lock.locked()
_thread.start_new_thread(lock.release, ())
assert lock.acquire(True, 30)

# Arguments, idents, the count.
got = []


def work(a, b=0):
    got.append((a, b, _thread.get_ident()))
    lock.release()


ident = _thread.start_new_thread(work, (1,), {"b": 2})
lock.acquire()
assert got == [(1, 2, ident)] and ident != _thread.get_ident()
while _thread._count():
    time.sleep(0.001)

# exit() leaves without a word.
_thread.start_new_thread(lambda: (lock.release(), _thread.exit()), ())
lock.acquire()

# Handles can be joined.
handle = _thread.start_joinable_thread(lambda: got.append("joined"))
handle.join()
assert handle.is_done() and got[-1] == "joined"

# Many at once.
n = 0
done = _thread.allocate_lock()
done.acquire()
guard = _thread.allocate_lock()


def count():
    global n
    with guard:
        n += 1
        if n == 100:
            done.release()


for _ in range(100):
    _thread.start_new_thread(count, ())
assert done.acquire(True, 30) and n == 100

for args in ((1, ()), (len, 1), (len, (), 1)):
    try:
        _thread.start_new_thread(*args)
    except TypeError:
        pass
    else:
        raise AssertionError(args)
assert _thread.TIMEOUT_MAX > 1e6 and _thread.get_native_id() > 0
