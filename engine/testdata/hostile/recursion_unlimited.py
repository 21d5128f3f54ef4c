# expect: error,memory_limit,timeout
import sys

sys.setrecursionlimit(2**31 - 1)


def f(n):
    return f(n + 1) + 1


f(0)
