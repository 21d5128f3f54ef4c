# expect: ok,error
for count in (500, 4_000, 50_000):
    try:
        compile("if x: pass\n" + "elif x: pass\n" * count, "<s>", "exec")
        print(count)
    except (SyntaxError, RecursionError, MemoryError) as err:
        print(type(err).__name__)
