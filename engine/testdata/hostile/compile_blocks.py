# expect: ok,error,timeout
def nested(line, depth):
    return "".join(" " * n + line + "\n" for n in range(depth)) + " " * depth + "pass\n"


for line in ("if x:", "for x in y:", "while x:", "try:\n", "with x:", "def f():", "class C:", "async def f():"):
    for depth in (19, 99, 5_000):
        try:
            compile(nested(line, depth), "<s>", "exec")
        except (SyntaxError, RecursionError, MemoryError) as err:
            print(line.strip(), depth, type(err).__name__)
