# expect: error,timeout,memory_limit
import sys

sys.setrecursionlimit(10**9)


def f():
    try:
        f()
    finally:
        f()


f()
