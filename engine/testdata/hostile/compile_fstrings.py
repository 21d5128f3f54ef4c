# expect: ok,error,timeout
for text in ('f"{' * 200 + "1" + '}"' * 200, "f'" + "{x}" * 100_000 + "'", "f'{x:" + "{y}" * 10_000 + "}'", "('a'" + " 'b'" * 100_000 + ")"):
    try:
        compile(text, "<s>", "eval")
    except (SyntaxError, RecursionError, MemoryError) as err:
        print(type(err).__name__)
