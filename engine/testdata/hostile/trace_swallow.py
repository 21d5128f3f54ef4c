# expect: timeout
# The trace function eats the exception that should end the loop.
import sys


def trace(frame, event, arg):
    try:
        while event == "exception":
            pass
    except BaseException:
        pass
    return trace


sys.settrace(trace)
sys.setprofile(trace)


def spin():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass


spin()
