"""Threads may recurse as deeply as CPython lets them, and are told when it is too deep."""

import copy
import functools
import json
import pickle
import re
import sys
import threading


def run(do):
    """Runs do in a thread and returns what came of it."""
    outcome = []

    def guarded():
        try:
            do()
            outcome.append("ok")
        except (RecursionError, MemoryError) as exc:
            outcome.append(type(exc).__name__)

    t = threading.Thread(target=guarded)
    t.start()
    t.join()
    return outcome[0]


def down(n):
    return down(n - 1) if n else 0


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
        return repr(self.inner)


def wrap(n):
    x = Wrapped(1)
    for _ in range(n):
        x = Wrapped(x)
    return x


def sort(n):
    return sorted([1], key=lambda _: sort(n - 1)) if n else 0


@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


# The limit holds, and what is below it works.
assert run(lambda: down(900)) == "ok"
assert run(lambda: down(1001)) == "RecursionError"
assert run(lambda: repr(nest(300))) == "ok"
assert run(lambda: fibonacci(300)) == "ok"
assert run(lambda: sort(100)) == "ok"
assert run(lambda: json.loads("[" * 500 + "]" * 500)) == "ok"
assert run(lambda: re.compile("(" * 50 + ")" * 50)) == "ok"
assert run(lambda: eval("(" * 150 + "1" + ")" * 150)) == "ok"
assert run(lambda: copy.deepcopy(nest(150))) == "ok"

# Far too deep is an exception, whichever way the C code takes.
sys.setrecursionlimit(10**6)
for do in (
    lambda: repr(nest(100_000)),
    lambda: json.dumps(nest(100_000)),
    lambda: json.loads("[" * 100_000 + "]" * 100_000),
    lambda: nest(100_000) == nest(100_000),
    lambda: pickle.dumps(nest(100_000)),
    lambda: repr(wrap(100_000)),
    lambda: wrap(100_000) == wrap(100_000),
    lambda: wrap(100_000).missing,
    lambda: sort(100_000),
    lambda: eval("-" * 100_000 + "1"),
    lambda: isinstance(1, functools.reduce(lambda a, b: (a, b), range(50_000), (str,))),
):
    assert run(do) in ("RecursionError", "MemoryError"), do
sys.setrecursionlimit(1000)

# Several at once, each with its own count.
outcomes = []
threads = [threading.Thread(target=lambda: outcomes.append(down(900))) for _ in range(10)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert outcomes == [0] * 10
assert run(lambda: nest(200_000) and None) == "ok"
