# expect: ok,error
# What the end of an execution relies on is taken away or replaced.
import _thread
import concurrent.futures.thread
import queue
import sys
import threading
import time

pool = concurrent.futures.ThreadPoolExecutor(2)
pool.submit(time.sleep, 0.01)
threading.Thread(target=time.sleep, args=(0.01,)).start()
threading.Thread(target=threading.Event().wait, daemon=True).start()


def bad(*args, **kwargs):
    raise ZeroDivisionError


threading._active.clear()
threading._limbo = threading._dangling = threading._active_limbo_lock = None
del threading.Thread.join, threading.Thread.is_alive
threading.Thread.daemon = threading.Thread.name = property(bad)
threading.enumerate = threading.main_thread = threading.Lock = threading.Semaphore = bad
threading._shutdown = threading._after_fork = _thread._shutdown = bad
threading.Thread._after_fork = threading.Event.__init__ = bad
_thread.allocate_lock = _thread.RLock = _thread.LockType = bad
queue.SimpleQueue = queue.Empty = bad
time.sleep = time.monotonic = bad
sys._current_frames = bad
pool._work_queue = pool._threads = pool._shutdown = None
concurrent.futures.thread._worker = concurrent.futures.thread.ThreadPoolExecutor = None
