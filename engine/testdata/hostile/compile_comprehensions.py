# expect: ok,error,lost
# Native CPython 3.13 crashes on this one.
for depth in (10, 25, 80, 1_000):
    try:
        exec("x = " + "[" * depth + "1" + " for _ in [1]]" * depth)
    except (SyntaxError, RecursionError, MemoryError, SystemError) as err:
        print(type(err).__name__)
