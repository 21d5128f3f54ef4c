# expect: ok,error
for text in ("-" * 100_000 + "1", "not " * 100_000 + "1", "~" * 100_000 + "1", "await " * 10_000 + "x"):
    try:
        compile(text, "<s>", "eval")
    except (SyntaxError, RecursionError, MemoryError) as err:
        print(type(err).__name__)
