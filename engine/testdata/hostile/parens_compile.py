# expect: ok,error
import ast

for open_, close in ("()", "[]", "{}"):
    source = open_ * 100_000 + close * 100_000
    for parse in (ast.parse, ast.literal_eval, lambda s: compile(s, "<s>", "exec")):
        try:
            parse(source)
        except (SyntaxError, RecursionError, MemoryError) as err:
            print(type(err).__name__)
