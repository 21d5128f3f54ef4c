# expect: ok,error,memory_limit,timeout
try:
    compile("\n".join(f"name_{n} = {n}" for n in range(200_000)), "<s>", "exec")
    compile("def f(" + ", ".join(f"a{n}" for n in range(50_000)) + "): pass", "<s>", "exec")
except (SyntaxError, RecursionError, MemoryError) as err:
    print(type(err).__name__)
