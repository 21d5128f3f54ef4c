"""multiprocessing.Queue brings back what processes put into it, when they end."""

import multiprocessing
import queue


def produce(q, n):
    for i in range(n):
        q.put((n, i))


q = multiprocessing.Queue()
processes = [multiprocessing.Process(target=produce, args=(q, n)) for n in range(1, 5)]
for p in processes:
    p.start()
got = [q.get(timeout=60) for _ in range(10)]
for p in processes:
    p.join()
assert sorted(got) == [(n, i) for n in range(1, 5) for i in range(n)], got
assert q.empty() and q.qsize() == 0
try:
    q.get_nowait()
except queue.Empty:
    pass
q.close()
q.join_thread()


# Taking out of one would give each process all of it, so that is refused.
def consume(q, answer):
    try:
        q.get()
    except RuntimeError as exc:
        answer.put(str(exc))


answer = multiprocessing.SimpleQueue()
q = multiprocessing.JoinableQueue()
q.put(1)
p = multiprocessing.Process(target=consume, args=(q, answer))
p.start()
assert "not available between processes" in answer.get()
p.join()

for name in ("Value", "Array", "Manager", "Pipe", "Event", "Condition", "Barrier"):
    try:
        getattr(multiprocessing, name)(*{"Value": ("i", 0), "Array": ("i", 1), "Barrier": (2,)}.get(name, ()))
    except RuntimeError as exc:
        assert name in str(exc)
    else:
        raise AssertionError(name)
for name in ("Lock", "RLock", "Semaphore", "BoundedSemaphore"):
    with getattr(multiprocessing, name)():
        pass
