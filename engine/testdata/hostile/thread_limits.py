# expect: ok,error
# The recursion limit goes up and down while threads are deep.
import sys
import threading
import time

stop = False


def down(n):
    if n:
        return down(n - 1)
    time.sleep(0)


def work():
    while not stop:
        try:
            down(500)
        except RecursionError:
            pass


def change():
    limit = 100
    while not stop:
        limit = 100 if limit > 10_000_000 else limit * 7
        try:
            sys.setrecursionlimit(limit)
        except RecursionError:
            pass
        time.sleep(0)


threads = [threading.Thread(target=f) for f in (work, work, work, change)]
for t in threads:
    t.start()
time.sleep(0.5)
stop = True
for t in threads:
    t.join()
