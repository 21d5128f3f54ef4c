"""Daemon threads run beside the program, and do not hold up its end."""

import threading
import time

beats = 0


def beat():
    global beats
    while True:
        beats += 1
        time.sleep(0.002)


t = threading.Thread(target=beat, daemon=True)
t.start()
deadline = time.monotonic() + 30
while beats < 5 and time.monotonic() < deadline:
    time.sleep(0.005)
assert beats >= 5 and t.is_alive() and t.daemon

# Threads of a daemon are daemons.
inherited = []
t = threading.Thread(target=lambda: inherited.append(threading.Thread().daemon), daemon=True)
t.start()
t.join()
assert inherited == [True] and not threading.Thread().daemon

# One that waits for ever.
threading.Thread(target=threading.Event().wait, daemon=True).start()
