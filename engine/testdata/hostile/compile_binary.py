# expect: ok,error,timeout,memory_limit
for text in ("+x" * 300_000, "1" + "**1" * 100_000, "x" + "<x" * 100_000, "x" + " if x else x" * 100_000, "x" + " and x" * 100_000):
    try:
        compile(text, "<s>", "eval")
    except (SyntaxError, RecursionError, MemoryError) as err:
        print(type(err).__name__)
