"""Semaphore, BoundedSemaphore and Barrier."""

import threading
import time


def run(n, target):
    threads = [threading.Thread(target=target) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


# Never more than two inside.
semaphore = threading.Semaphore(2)
lock = threading.Lock()
inside = most = 0


def enter():
    global inside, most
    with semaphore:
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.005)
        with lock:
            inside -= 1


run(10, enter)
assert most == 2 and inside == 0

assert semaphore.acquire() and semaphore.acquire()
assert not semaphore.acquire(blocking=False) and not semaphore.acquire(timeout=0.01)
semaphore.release(2)
assert semaphore.acquire(blocking=False)

bounded = threading.BoundedSemaphore(1)
try:
    bounded.release()
except ValueError:
    pass
else:
    raise AssertionError("a bounded semaphore went over its bound")

# A barrier lets all go at once, several times, and runs its action in one of them.
rounds, actions = [], []
barrier = threading.Barrier(4, action=lambda: actions.append(len(rounds)))


def run_rounds():
    for k in range(3):
        index = barrier.wait(30)
        assert 0 <= index < 4
        with lock:
            rounds.append(k)
        barrier.wait(30)


run(4, run_rounds)
assert rounds == [0] * 4 + [1] * 4 + [2] * 4
assert actions == [0, 4, 4, 8, 8, 12]

# A broken one tells all that wait.
broken = []


def wait_for_nobody():
    try:
        barrier.wait()
    except threading.BrokenBarrierError:
        broken.append(True)


threads = [threading.Thread(target=wait_for_nobody) for _ in range(3)]
for t in threads:
    t.start()
while barrier.n_waiting < 3:
    time.sleep(0.001)
barrier.abort()
for t in threads:
    t.join()
assert broken == [True] * 3 and barrier.broken
barrier.reset()
assert not barrier.broken
try:
    barrier.wait(0.01)
except threading.BrokenBarrierError:
    pass
else:
    raise AssertionError("a time limit did not break the barrier")
