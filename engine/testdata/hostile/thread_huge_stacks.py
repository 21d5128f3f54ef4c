# expect: ok
# Stack sizes that cannot be.
import threading

for size in (1, 4096, 32 << 10, -1, 1 << 31, 1 << 32, 1 << 62, 1 << 80, (64 << 10) + 1, 100 << 20, 1 << 30):
    try:
        threading.stack_size(size)
        ts = [threading.Thread(target=int) for _ in range(4)]
        for t in ts:
            t.start()
        for t in ts:
            t.join()
    except (ValueError, OverflowError, RuntimeError, MemoryError) as err:
        print(size, type(err).__name__)
threading.stack_size(0)
t = threading.Thread(target=int)
t.start()
t.join()
