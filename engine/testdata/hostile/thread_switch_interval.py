# expect: timeout
# Intervals that would starve others, or do nothing but switch; and interrupts of the main thread by the thousand.
import _thread
import sys
import threading

stop = False


def spin():
    while not stop:
        sum(range(100))


def interrupt():
    while not stop:
        _thread.interrupt_main()


for interval in (1e-300, 1e300, 4000.0):
    try:
        sys.setswitchinterval(interval)
    except (ValueError, OverflowError):
        pass
for target in (spin, spin, interrupt):
    threading.Thread(target=target).start()
while True:
    try:
        while True:
            pass
    except KeyboardInterrupt:
        pass
