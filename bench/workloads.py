# Six small workloads. The same source runs in the sandbox and in the native interpreter; each call of measure() runs one
# of them once and returns the seconds that it took.
import json
import random
import re
import time


def fib(n=25):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def loop():
    total = 0
    for i in range(1_000_000):
        total += i
    return total


def json_():
    rows = [{"a": i, "b": [i] * 5} for i in range(5000)]
    return len(json.dumps(json.loads(json.dumps(rows))))


def sort():
    rng = random.Random(1)
    return sorted([rng.random() for _ in range(100_000)])[0]


def regex():
    return len(re.findall(r"(\w+)@(\w+)\.com", "foo@bar.com baz@qux.com " * 5000))


class Point:
    def __init__(self, x):
        self.x = x

    def moved(self):
        return self.x + 1


def objects():
    return sum(Point(i).moved() for i in range(200_000))


# What each must return, so that a workload that does something else is not timed unnoticed.
WORKLOADS = {
    "fib": (fib, 75025),
    "loop": (loop, 499999500000),
    "json": (json_, 243340),
    "sort": (sort, 1.8531679347733032e-05),
    "regex": (regex, 10000),
    "objects": (objects, 20000100000),
}


def measure(name):
    function, expected = WORKLOADS[name]
    start = time.perf_counter()
    value = function()
    seconds = time.perf_counter() - start
    assert value == expected, f"{name} returned {value!r}, not {expected!r}"
    return seconds
