# expect: ok,error
# Modules are replaced by garbage while threads run.
import concurrent.futures.thread
import logging
import multiprocessing.pool
import sys
import threading
import time

pool = concurrent.futures.ThreadPoolExecutor(2)
pool.submit(time.sleep, 0.01)
processes = multiprocessing.pool.ThreadPool(2)


def stubborn():
    while True:
        try:
            time.sleep(0.001)
        except BaseException:
            pass


threading.Thread(target=stubborn, daemon=True).start()


class Evil:
    def __getattr__(self, name):
        raise KeyboardInterrupt

    def __bool__(self):
        raise ZeroDivisionError


logging._handlerList[:] = [lambda: Evil()]
for name in ("concurrent.futures.thread", "multiprocessing.pool", "logging", "threading", "queue", "mayfly._processes"):
    sys.modules[name] = Evil()
sys.modules["evil"] = Evil()
