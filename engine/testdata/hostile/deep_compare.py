# expect: ok,error
a, b = [], []
for _ in range(100_000):
    a, b = [a], [b]
t = ()
for _ in range(100_000):
    t = (t,)
for work in (lambda: a == b, lambda: a < b, lambda: hash(t), lambda: {t: 1}, lambda: sorted([a, b]), lambda: isinstance(1, t), lambda: "x".startswith(t)):
    try:
        work()
    except (RecursionError, MemoryError, TypeError) as err:
        print(type(err).__name__)
