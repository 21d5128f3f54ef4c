# expect: ok,error
# Threads that end with exceptions, whose hooks raise others.
import sys
import threading


class Evil(Exception):
    def __str__(self):
        raise Evil

    __repr__ = __str__


def bad():
    raise Evil


def hook(args):
    raise Evil


def run():
    t = threading.Thread(target=bad, name=Evil.__name__)
    t.start()
    t.join()


run()
for threading.excepthook in (hook, None, 5, threading.__excepthook__):
    run()
sys.excepthook = hook
run()
sys.stderr = None
run()
del threading.excepthook
run()
