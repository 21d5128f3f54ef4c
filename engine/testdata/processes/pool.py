"""multiprocessing.Pool: each task runs in a fork of the sandbox."""

import multiprocessing
import os


def square(n):
    return n * n


def add(a, b):
    return a + b


def fail(n):
    raise ValueError(f"no {n}")


factor = 3
with multiprocessing.Pool(3) as pool:
    assert pool.map(square, range(20)) == [n * n for n in range(20)]
    assert pool.starmap(add, [(1, 2), (3, 4)]) == [3, 7]
    assert pool.apply(add, (5,), {"b": 6}) == 11
    assert pool.apply_async(square, (9,)).get(timeout=60) == 81
    assert list(pool.imap(square, range(5))) == [0, 1, 4, 9, 16]
    assert sorted(pool.imap_unordered(square, range(5), chunksize=2)) == [0, 1, 4, 9, 16]
    # What is no function of a module works as well, since nothing has to be pickled on the way there.
    assert pool.map(lambda n: n * factor, [1, 2]) == [3, 6]
    try:
        pool.map(fail, [7])
    except ValueError as exc:
        assert exc.args == ("no 7",) and "fail" in str(exc.__cause__), exc.__cause__
    else:
        raise AssertionError("no exception")
    try:
        pool.apply(lambda: lambda: 0)
    except multiprocessing.pool.MaybeEncodingError:
        pass
    else:
        raise AssertionError("a function was pickled")
    done = []
    pool.map_async(square, [1, 2], callback=done.extend).wait(60)
    assert done == [1, 4], done

ready = None


def initialise(value):
    global ready
    ready = value


def is_ready(_):
    return ready


with multiprocessing.Pool(2, initialise, ("yes",)) as pool:
    assert pool.map(is_ready, range(4)) == ["yes"] * 4
assert ready is None  # it happened in the forks

pool = multiprocessing.get_context("spawn").Pool(2)
assert pool.map(square, [2]) == [4]
pool.close()
pool.join()
try:
    pool.map(square, [1])
except ValueError:
    pass
else:
    raise AssertionError("the pool is closed")
