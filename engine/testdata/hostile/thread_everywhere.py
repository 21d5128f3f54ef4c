# expect: ok,error,timeout,memory_limit
# Threads that are started where nobody expects it, and start others there.
import atexit
import gc
import sys
import threading
import weakref


def start():
    try:
        threading.Thread(target=Late).start()
    except (RuntimeError, MemoryError):
        pass


class Late:
    n = 0

    def __init__(self):
        self.me = self
        Late.n += 1

    def __del__(self):
        if Late.n < 500:
            start()


def hook(*args):
    start()


threading.excepthook = sys.unraisablehook = sys.excepthook = hook
threading.settrace(lambda *args: None if Late.n > 500 else start())
threading.setprofile(lambda *args: None if Late.n > 500 else start())
gc.callbacks.append(lambda *args: None if Late.n > 500 else start())
atexit.register(start)
threading._register_atexit(start)
weakref.finalize(Late(), start)
gc.set_threshold(1)
for _ in range(50):
    Late()
gc.collect()
1 / 0
