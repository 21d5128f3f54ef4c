# expect: ok,error,memory_limit,lost,timeout
def f():
    return [1, 2, 3]


for size in (0, 2**20, 2**28, 2**31 - 1):
    try:
        f.__code__ = f.__code__.replace(co_stacksize=size)
        f()
    except (MemoryError, OverflowError, ValueError, SystemError) as err:
        print(type(err).__name__)
