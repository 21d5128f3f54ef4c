"""multiprocessing.pool.ThreadPool."""

import multiprocessing
import threading
import time
from multiprocessing.pool import ThreadPool


def raises(error, do, *args, **kwargs):
    try:
        do(*args, **kwargs)
    except error:
        return True
    return False


with ThreadPool(4) as pool:
    assert pool.map(abs, range(-5, 0)) == [5, 4, 3, 2, 1]
    assert pool.map(str, range(100), chunksize=7) == [str(i) for i in range(100)]
    assert list(pool.imap(lambda x: x * 2, range(20))) == list(range(0, 40, 2))
    assert sorted(pool.imap_unordered(lambda x: x * 2, range(20), 3)) == list(range(0, 40, 2))
    assert pool.starmap(pow, [(2, 3), (3, 2)]) == [8, 9]
    assert pool.apply(max, (3, 7)) == 7
    assert pool.apply(sorted, ([3, 1],), {"reverse": True}) == [3, 1]

    called, failed = threading.Event(), []
    r = pool.apply_async(pow, (2, 5), callback=lambda v: called.set())
    assert r.get(30) == 32 and r.successful() and called.wait(30)
    r = pool.apply_async(lambda: 1 / 0, error_callback=failed.append)
    assert raises(ZeroDivisionError, r.get, 30)
    assert isinstance(failed[0], ZeroDivisionError)
    assert raises(ZeroDivisionError, pool.map, lambda x: 1 / x, [1, 0])

    go = threading.Event()
    r = pool.apply_async(go.wait, (30,))
    assert raises(multiprocessing.TimeoutError, r.get, 0.01) and not r.ready()
    go.set()
    r.wait(30)
    assert r.get() is True

    begin = time.monotonic()
    pool.map(time.sleep, [0.1] * 4, chunksize=1)
    assert time.monotonic() - begin < 0.5
assert raises(ValueError, pool.map, abs, [1])

# Closed and joined, with an initializer.
seen = []
pool = ThreadPool(2, seen.append, ("init",))
result = pool.map_async(lambda x: x + 1, range(5))
pool.close()
pool.join()
assert result.get() == [1, 2, 3, 4, 5] and seen == ["init"] * 2

# multiprocessing.dummy is the same with another name.
from multiprocessing import dummy

with dummy.Pool(2) as pool:
    assert pool.map(len, ["a", "bb"]) == [1, 2]
p = dummy.Process(target=seen.append, args=("process",))
p.start()
p.join()
assert seen[-1] == "process"
