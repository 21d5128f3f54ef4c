# expect: timeout,error
# The trace function moves execution back into the loop.
import sys


def trace(frame, event, arg):
    if event == "line" and frame.f_code.co_name == "spin" and frame.f_lineno > first + 2:
        frame.f_lineno = first + 1
    return trace


def spin():
    n = 0
    while n < 1_000_000_000:
        n = 0
    n = 1
    n = 2


first = spin.__code__.co_firstlineno
sys.settrace(trace)
spin()
