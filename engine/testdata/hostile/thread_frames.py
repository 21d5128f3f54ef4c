# expect: ok,error
# Frames, trace functions and locals of other threads are changed while they run; objects are frozen and thawed.
import gc
import sys
import threading
import time

stop = False


def work():
    x = 0
    while not stop:
        x += 1
        y = [x]
        y.append(y)
        time.sleep(0)


threads = [threading.Thread(target=work) for _ in range(5)]
for t in threads:
    t.start()
for i in range(300):
    for frame in sys._current_frames().values():
        try:
            frame.f_trace = lambda *args: None
            frame.f_trace_opcodes = True
            frame.f_locals["x"] = object() if i == 200 else i
            frame.f_locals["y"] = None
            frame.clear()
        except (RuntimeError, ValueError, TypeError):
            pass
    gc.freeze()
    gc.collect()
    gc.unfreeze()
    time.sleep(0)
stop = True
