# expect: ok,error,timeout,memory_limit,lost
# Bytecode that no compiler made. Native CPython crashes.
def f():
    return 1


for code in (b"\x64\xff" * 100, bytes(range(256)), b"\x01\x00" * 50, b"\xff" * 64):
    try:
        f.__code__ = f.__code__.replace(co_code=code, co_stacksize=1, co_nlocals=0)
        f()
    except Exception as err:
        print(type(err).__name__)
