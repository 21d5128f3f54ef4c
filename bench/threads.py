# What threads and processes cost. The same source runs in the sandbox and in the native interpreter; each call of measure()
# takes one group of measurements once and returns its numbers, with their units in their names.
import asyncio
import concurrent.futures
import multiprocessing
import queue
import threading
import time


def per_call(n, f):
    """Returns the microseconds of a call, the mean of n."""
    start = time.perf_counter()
    for _ in range(n):
        f()
    return (time.perf_counter() - start) * 1e6 / n


def beside(function, run):
    """Returns what run returns while function runs in another thread, which ends afterwards."""
    thread = threading.Thread(target=function)
    thread.start()
    try:
        return run()
    finally:
        thread.join()


def nothing():
    pass


def thread():
    def one():
        t = threading.Thread(target=nothing)
        t.start()
        t.join()

    one()
    return {"thread_start_join_us": per_call(200, one)}


def ping_pong(here, there, n=2000):
    """Returns the microseconds of a switch: each side acquires its own and then releases the other's."""

    def echo():
        for _ in range(n):
            there.acquire()
            here.release()

    def one():
        there.release()
        here.acquire()

    return beside(echo, lambda: per_call(n, one)) / 2


def lock():
    a, b = threading.Lock(), threading.Lock()
    a.acquire()
    b.acquire()
    return {"lock_switch_us": ping_pong(a, b)}


def semaphore():
    return {"semaphore_switch_us": ping_pong(threading.Semaphore(0), threading.Semaphore(0))}


def round_trip(new, n=1000):
    there, back = new(), new()

    def echo():
        for _ in range(n):
            back.put(there.get())

    def one():
        there.put(1)
        back.get()

    return beside(echo, lambda: per_call(n, one))


def queue_():
    return {"queue_round_trip_us": round_trip(queue.Queue)}


def simple_queue():
    return {"simple_queue_round_trip_us": round_trip(queue.SimpleQueue)}


def executor():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(nothing).result()
        return {"executor_round_trip_us": per_call(500, lambda: pool.submit(nothing).result())}


def to_thread(n=300):
    async def main():
        await asyncio.to_thread(nothing)
        start = time.perf_counter()
        for _ in range(n):
            await asyncio.to_thread(nothing)
        return (time.perf_counter() - start) * 1e6 / n

    return {"to_thread_round_trip_us": asyncio.run(main())}


def waits():
    def all_():
        threads = [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(20)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    return {"wait_100ms_20_threads_ms": per_call(1, all_) / 1000}


def lateness(busy, n=20, nap=0.005):
    stop = False

    def compute():
        while not stop:
            pass

    threads = [threading.Thread(target=compute) for _ in range(busy)]
    for t in threads:
        t.start()
    late = []
    for _ in range(n):
        start = time.perf_counter()
        time.sleep(nap)
        late.append((time.perf_counter() - start - nap) * 1000)
    stop = True
    for t in threads:
        t.join()
    return {f"late_beside_{busy}_mean_ms": sum(late) / n, f"late_beside_{busy}_max_ms": max(late)}


def process():
    def one():
        p = multiprocessing.Process(target=nothing)
        p.start()
        p.join()
        assert p.exitcode == 0, p.exitcode

    one()
    return {"process_start_join_ms": per_call(10, one) / 1000}


def work(n):
    total = 0
    for i in range(n):
        total = (total * 31 + i) % 1000003
    return total


def pool(cores):
    items = [400_000 + i for i in range(4 * cores)]
    start = time.perf_counter()
    serial = list(map(work, items))
    middle = time.perf_counter()
    with multiprocessing.Pool(cores) as p:
        parallel = p.map(work, items)
    end = time.perf_counter()
    assert parallel == serial, "the processes computed something else"
    return {"pool_map_speedup_ratio": (middle - start) / (end - middle)}


MEASURES = {
    "thread": thread,
    "lock": lock,
    "semaphore": semaphore,
    "queue": queue_,
    "simple_queue": simple_queue,
    "executor": executor,
    "to_thread": to_thread,
    "waits": waits,
    "lateness": lambda: lateness(1) | lateness(4),
    "process": process,
    "pool": pool,
}


def measure(call):
    name, *args = call.split()
    return MEASURES[name](*map(int, args))


def park(count, depth):
    """Parks threads below so many levels of recursion in C. Before and after, it asks the other side to look at the process
    and to send a line then."""
    go = threading.Event()
    parked = threading.Semaphore(0)

    def wait(n):
        if n:
            sorted([n - 1], key=wait)
        else:
            parked.release()
            go.wait()

    threads = [threading.Thread(target=wait, args=(depth,)) for _ in range(count)]
    print("look", flush=True)
    input()
    for t in threads:
        t.start()
    for _ in threads:
        parked.acquire()
    print("look", flush=True)
    input()
    go.set()
    for t in threads:
        t.join()
