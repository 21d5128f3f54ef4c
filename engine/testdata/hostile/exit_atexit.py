# expect: ok,error,timeout
import atexit
import threading


@atexit.register
def spin():
    while True:
        pass


if hasattr(threading, "_register_atexit"):
    threading._register_atexit(spin)
