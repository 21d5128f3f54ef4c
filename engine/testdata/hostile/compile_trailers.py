# expect: ok,error
for text in ("x" + ".a" * 100_000, "x" + "[0]" * 100_000, "x" + "()" * 100_000, "lambda:" * 100_000 + "0", "lambda x=" * 5_000 + "0" + ":0" * 5_000):
    try:
        compile(text, "<s>", "eval")
    except (SyntaxError, RecursionError, MemoryError) as err:
        print(type(err).__name__)
