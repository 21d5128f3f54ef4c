# expect: ok,error
# Deep recursion of all kinds on the smallest stack.
import functools
import json
import pickle
import re
import sys
import threading

sys.setrecursionlimit(1_000_000)
threading.stack_size(64 << 10)


def nest(n):
    x = []
    for _ in range(n):
        x = [x]
    return x


class Wrapped:
    def __init__(self, inner):
        self.inner = inner

    def __eq__(self, other):
        return self.inner == other.inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __repr__(self):
        return f"{self.inner!r}"

    def __hash__(self):
        return hash((self.inner,))

    def __iter__(self):
        return iter(list(self.inner))


deep = functools.reduce(lambda a, _: Wrapped(a), range(100_000), 1)
for do in (
    lambda: repr(nest(100_000)),
    lambda: json.loads("[" * 100_000),
    lambda: pickle.dumps(nest(100_000)),
    lambda: deep == deep.inner,
    lambda: deep.missing,
    lambda: repr(deep),
    lambda: hash(deep),
    lambda: list(deep),
    lambda: eval("-" * 100_000 + "1"),
    lambda: eval("(" * 150 + ")" * 150),
    lambda: eval("lambda: " * 3000 + "1"),
    lambda: compile("if 1: pass\n" + "elif 1: pass\n" * 5000, "", "exec"),
    lambda: re.compile("(" * 10_000 + ")" * 10_000),
    lambda: re.match("(?:" * 500 + "a" + ")*" * 500, "a" * 1000),
):

    def guarded():
        try:
            do()
        except (RecursionError, MemoryError, OverflowError, SyntaxError, re.PatternError):
            pass

    t = threading.Thread(target=guarded)
    t.start()
    t.join()
