# expect: timeout,error
import sys


def spin(*args):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


sys.excepthook = sys.unraisablehook = sys.displayhook = spin
sys.__excepthook__ = sys.__displayhook__ = spin
if hasattr(sys, "last_exc"):
    del sys.last_exc
1 / 0
