# expect: ok
import concurrent.futures
import multiprocessing


def work(n):
    return n


def by_executor():
    with concurrent.futures.ProcessPoolExecutor(4) as pool:
        return list(pool.map(work, range(10)))


def by_pool():
    with multiprocessing.Pool(4) as pool:
        return pool.map(work, range(10))


def by_process():
    for _ in range(100):
        multiprocessing.Process(target=work, args=(1,)).start()


for attempt in (by_process, by_pool, by_executor):
    try:
        attempt()
    except Exception as err:
        print(attempt.__name__, type(err).__name__)
    else:
        raise SystemExit("a process was made")
