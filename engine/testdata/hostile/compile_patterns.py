# expect: ok,error
for pattern in ("[" * 5_000 + "x" + "]" * 5_000, "|".join(["1"] * 50_000), "C(" * 5_000 + ")" * 5_000, "{1: " * 5_000 + "x" + "}" * 5_000):
    try:
        compile(f"match x:\n case {pattern}: pass", "<s>", "exec")
    except (SyntaxError, RecursionError, MemoryError) as err:
        print(type(err).__name__)
