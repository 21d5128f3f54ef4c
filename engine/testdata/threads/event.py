"""Event and Timer."""

import threading
import time

# Nobody passes before it is set, everybody after.
event = threading.Event()
passed = []
threads = [threading.Thread(target=lambda i=i: passed.append((i, event.wait()))) for i in range(20)]
for t in threads:
    t.start()
time.sleep(0.01)
assert not passed and not event.is_set()
event.set()
for t in threads:
    t.join()
assert sorted(passed) == [(i, True) for i in range(20)]
assert event.wait() and event.wait(0)

# Cleared, it holds them up again.
event.clear()
begin = time.monotonic()
assert event.wait(0.03) is False and event.wait(0) is False
assert time.monotonic() - begin >= 0.025

# A timer fires once, after its time, with its arguments.
fired = []
begin = time.monotonic()
timer = threading.Timer(0.05, lambda *a, **k: fired.append((time.monotonic() - begin, a, k)), (1,), {"x": 2})
timer.start()
timer.join()
assert len(fired) == 1 and fired[0][1:] == ((1,), {"x": 2})
assert 0.045 <= fired[0][0] < 2, fired

# A cancelled one never does, and does not wait either.
timer = threading.Timer(1000, fired.append, (None,))
timer.start()
timer.cancel()
timer.join()
assert len(fired) == 1
timer = threading.Timer(0.01, fired.append)
timer.cancel()
timer.start()
timer.join()
assert len(fired) == 1

# Many timers fire in the order of their times.
fired = []
timers = [threading.Timer(i / 20, fired.append, (i,)) for i in (3, 1, 4, 2)]
for t in timers:
    t.start()
for t in timers:
    t.join()
assert fired == [1, 2, 3, 4], fired
