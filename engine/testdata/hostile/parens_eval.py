# expect: ok,error
try:
    eval("(" * 100_000 + "1" + ")" * 100_000)
except (SyntaxError, RecursionError, MemoryError) as err:
    print(type(err).__name__, err)
