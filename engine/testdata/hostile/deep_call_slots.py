# expect: ok,error
# Recursion through C slots.
import sys

sys.setrecursionlimit(10**8)


class A:
    pass


A.__call__ = A()
A.__getattribute__ = A.__get__ = None
del A.__getattribute__, A.__get__
for work in (lambda: A()(), lambda: sorted([3, 1], key=lambda x: sorted([x, 1], key=work.__call__)), lambda: list(map(work.__call__, [1]))):
    try:
        work()
    except (RecursionError, MemoryError, TypeError, AttributeError, UnboundLocalError, NameError) as err:
        print(type(err).__name__)
