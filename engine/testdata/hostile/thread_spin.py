# expect: timeout
# Threads that never end.
import threading


def spin():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


for _ in range(4):
    threading.Thread(target=spin).start()
