# expect: ok
# Daemons that start their successors when they are told to end.
import threading
import time


def daemon():
    try:
        time.sleep(1000)
    finally:
        threading.Thread(target=daemon, daemon=True).start()
        threading.Thread(target=daemon, daemon=True).start()


threading.Thread(target=daemon, daemon=True).start()
