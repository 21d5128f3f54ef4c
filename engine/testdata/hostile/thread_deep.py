# expect: ok,memory_limit
# All threads recurse through C code as deeply as they can, and stay there.
import sys
import threading

sys.setrecursionlimit(1_000_000)
go = threading.Event()


def down():
    try:
        sorted([0], key=lambda _: down())
    except RecursionError:
        go.wait(0.5)


threads = [threading.Thread(target=down) for _ in range(100)]
for t in threads:
    t.start()
for t in threads:
    t.join()
