# expect: ok,error,memory_limit
import functools
import sys

sys.setrecursionlimit(10**9)


def by_map(n):
    return list(map(by_map, [n + 1]))


def by_key(n):
    return max([n], key=by_key)


def by_reduce(n, m=0):
    return functools.reduce(by_reduce, [n, m])


@functools.lru_cache(None)
def by_cache(n):
    return by_cache(n + 1)


class Index:
    def __index__(self):
        return range(10)[self]


def by_import(n):
    return __import__("re").sub("a", lambda m: by_import(n + 1), "a")


for f in (by_map, by_key, by_reduce, by_cache, by_import, lambda n: range(10)[Index()], lambda n: exec("f(1)", {"f": by_exec})):

    def by_exec(n):
        exec("f(1)", {"f": by_exec})

    try:
        f(0)
    except (RecursionError, MemoryError) as err:
        print(type(err).__name__)
