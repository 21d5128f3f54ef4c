"""concurrent.futures.ProcessPoolExecutor."""

import concurrent.futures
import threading


def square(n):
    return n * n


def fail():
    raise KeyError("x")


def threads():
    return threading.active_count(), threading.current_thread() is threading.main_thread()


with concurrent.futures.ProcessPoolExecutor(3) as pool:
    assert list(pool.map(square, range(8), chunksize=3)) == [n * n for n in range(8)]
    futures = [pool.submit(pow, 2, n) for n in range(6)]
    assert sorted(f.result() for f in concurrent.futures.as_completed(futures)) == [1, 2, 4, 8, 16, 32]
    assert isinstance(pool.submit(fail).exception(), KeyError)
    assert pool.submit(threads).result() == (1, True)  # whatever threads there are here

# Forked by a thread, while others wait, compute and hold locks.
stop = threading.Event()
lock = threading.Lock()


def busy():
    while not stop.is_set():
        with lock:
            sum(range(1000))


others = [threading.Thread(target=busy), threading.Thread(target=stop.wait)]
for t in others:
    t.start()
with concurrent.futures.ProcessPoolExecutor(2) as pool:
    for _ in range(5):
        assert pool.submit(threads).result() == (1, True)
stop.set()
for t in others:
    t.join()


# In a fork, threads can be started as anywhere.
def nested():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(square, [1, 2, 3]))


with concurrent.futures.ProcessPoolExecutor() as pool:
    assert pool.submit(nested).result() == [1, 4, 9]
