"""ThreadPoolExecutor and what waits for its futures."""

import concurrent.futures as cf
import threading
import time
from concurrent.futures import ThreadPoolExecutor


def raises(error, do, *args, **kwargs):
    try:
        do(*args, **kwargs)
    except error as exc:
        return exc
    raise AssertionError(f"no {error.__name__}")


with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(lambda x: x * x, range(50))) == [x * x for x in range(50)]
    futures = {pool.submit(pow, 2, i): i for i in range(20)}
    assert all(f.result() == 2 ** futures[f] for f in cf.as_completed(futures))

    failed = pool.submit(lambda: 1 / 0)
    raises(ZeroDivisionError, failed.result)
    assert isinstance(failed.exception(), ZeroDivisionError)
    raises(ZeroDivisionError, list, pool.map(lambda x: 1 / x, [1, 0]))

    # Callbacks run, also those that are added late.
    called = []
    f = pool.submit(time.sleep, 0.01)
    f.add_done_callback(called.append)
    f.result()
    f.add_done_callback(called.append)
    time.sleep(0.01)
    assert called == [f, f]
raises(RuntimeError, pool.submit, int)

# They do run at the same time.
with ThreadPoolExecutor(10) as pool:
    begin = time.monotonic()
    list(pool.map(time.sleep, [0.1] * 10))
    assert 0.095 <= time.monotonic() - begin < 0.8

# wait() in its three ways, and time limits.
with ThreadPoolExecutor(3) as pool:
    go = threading.Event()
    quick, slow, other = pool.submit(int), pool.submit(go.wait, 30), pool.submit(go.wait, 30)
    done = cf.wait([quick, slow, other], timeout=0.05)
    assert done.done == {quick} and done.not_done == {slow, other}
    assert quick in cf.wait([quick, slow], return_when=cf.FIRST_COMPLETED).done
    raises(TimeoutError, slow.result, timeout=0.01)
    raises(TimeoutError, list, cf.as_completed([slow], timeout=0.01))
    raises(TimeoutError, list, pool.map(lambda _: go.wait(30), [0], timeout=0.01))
    assert slow.running() and not slow.cancel()
    bad = pool.submit(lambda: go.wait(30) and 1 / 0)
    go.set()
    assert bad in cf.wait([bad], return_when=cf.FIRST_EXCEPTION).done
    assert not cf.wait([slow, other]).not_done

# What has not begun can be cancelled.
with ThreadPoolExecutor(1) as pool:
    go = threading.Event()
    first, second, third = pool.submit(go.wait, 30), pool.submit(int), pool.submit(int)
    assert second.cancel() and second.cancelled()
    go.set()
    assert third.result() == 0
    raises(cf.CancelledError, second.result)
    go.clear()
    running, waiting = pool.submit(go.wait, 30), pool.submit(int)
    pool.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    go.set()
assert running.result() is True

# Names and initializers.
local = threading.local()


def set_up(value):
    local.value = value


with ThreadPoolExecutor(3, thread_name_prefix="mine", initializer=set_up, initargs=("set",)) as pool:
    seen = list(pool.map(lambda _: (local.value, threading.current_thread().name[:4]), range(9)))
assert set(seen) == {("set", "mine")}


def cannot(_=None):
    raise ValueError("cannot set up")


import logging

logging.getLogger("concurrent.futures").setLevel(logging.CRITICAL + 1)
pool = ThreadPoolExecutor(1, initializer=cannot)
raises(cf.BrokenExecutor, pool.submit(int).result)
raises(cf.BrokenExecutor, pool.submit, int)

# Workers that submit to other pools, pools in pools.
with ThreadPoolExecutor(2) as outer:

    def spread(n):
        with ThreadPoolExecutor(3) as inner:
            return sum(inner.map(abs, range(-n, 0)))

    assert list(outer.map(spread, [3, 4, 5])) == [6, 10, 15]

# One that nobody shuts down ends with the program.
forgotten = ThreadPoolExecutor(2)
forgotten.submit(time.sleep, 0.01)
