# expect: ok
# As many threads as there can be, and then some.
import threading

event = threading.Event()
started = 0
try:
    for _ in range(100_000):
        threading.Thread(target=event.wait, daemon=True).start()
        started += 1
except (RuntimeError, MemoryError) as err:
    print(type(err).__name__, err)
event.set()
assert 50 < started < 1000, started
