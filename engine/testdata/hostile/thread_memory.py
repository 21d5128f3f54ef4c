# expect: memory_limit,ok,error
# All threads take what memory they can get, and meet its end together.
import threading


def take():
    hoard = []
    size = 1 << 22
    while size > 64:
        try:
            hoard.append(bytearray(size))
        except MemoryError:
            size //= 2
    raise MemoryError


threads = []
for _ in range(40):
    try:
        t = threading.Thread(target=take)
        t.start()
        threads.append(t)
    except (MemoryError, RuntimeError):
        pass
for t in threads:
    t.join()
