# expect: timeout
# A million threads, one after the other and a hundred at a time.
import _thread
import threading

for _ in range(1_000_000):
    ts = [threading.Thread(target=int) for _ in range(100)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    for _ in range(50):
        _thread.start_new_thread(int, ())
