"""Condition: notify wakes as many as it says, wait_for waits for what it is told."""

import threading
import time


def start(n, target):
    threads = [threading.Thread(target=target) for _ in range(n)]
    for t in threads:
        t.start()
    return threads


# Each item wakes one consumer.
ready = threading.Condition()
items, taken = [], []


def consume():
    with ready:
        assert ready.wait_for(lambda: items, timeout=30)
        taken.append(items.pop())


threads = start(5, consume)
for i in range(5):
    with ready:
        items.append(i)
        ready.notify()
for t in threads:
    t.join()
assert sorted(taken) == [0, 1, 2, 3, 4] and not items

# notify(n) and notify_all().
waiting, woken = 0, 0


def sleeper():
    global waiting, woken
    with ready:
        waiting += 1
        ready.wait()
        woken += 1


threads = start(6, sleeper)
while waiting < 6:
    time.sleep(0.001)
with ready:
    ready.notify(2)
deadline = time.monotonic() + 30
while woken < 2 and time.monotonic() < deadline:
    time.sleep(0.001)
time.sleep(0.01)
assert woken == 2, woken
with ready:
    ready.notify_all()
for t in threads:
    t.join()
assert woken == 6

# Time limits.
with ready:
    begin = time.monotonic()
    assert ready.wait(0.03) is False
    assert ready.wait_for(lambda: False, timeout=0.03) is False
    assert ready.wait_for(lambda: "value") == "value"
    assert time.monotonic() - begin >= 0.055

# The lock is needed.
for use in (ready.wait, ready.notify, ready.notify_all):
    try:
        use()
    except RuntimeError:
        pass
    else:
        raise AssertionError(f"{use} without the lock")

# A plain lock does, and an RLock that is held twice is given away as a whole.
plain = threading.Condition(threading.Lock())
t = threading.Timer(0.01, lambda: plain.__enter__() and (plain.notify(), plain.__exit__(None, None, None)))
with plain:
    t.start()
    assert plain.wait(30)
t.join()
with ready, ready:
    helper = start(1, lambda: ready.__enter__() and (ready.notify(), ready.__exit__(None, None, None)))
    assert ready.wait(30)
helper[0].join()

# Two threads play ping-pong.
turn, log = ["ping"], []


def play(mine, other):
    for _ in range(200):
        with ready:
            ready.wait_for(lambda: turn[0] == mine)
            log.append(mine)
            turn[0] = other
            ready.notify_all()


threads = [threading.Thread(target=play, args=a) for a in (("ping", "pong"), ("pong", "ping"))]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert log == ["ping", "pong"] * 200
