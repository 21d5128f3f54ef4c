# expect: ok,error
import functools
import itertools

it = iter([1])
for _ in range(100_000):
    it = map(int, it)
part = int
for _ in range(100_000):
    part = functools.partial(functools.partial, part)


def wrap(inner):
    yield from inner


gen = iter([1])
for _ in range(50_000):
    gen = wrap(gen)
chain = iter([1])
for _ in range(100_000):
    chain = itertools.chain(chain)
for work in (lambda: next(it), lambda: repr(part), lambda: next(gen), lambda: next(chain)):
    try:
        print(str(work())[:20])
    except (RecursionError, MemoryError) as err:
        print(type(err).__name__)
