# expect: ok,error
for text in ("\0", "x = 1\0", "\ud800", "# coding: utf-7\nx", b"\xff\xfe", "\\\n" * 100_000, "\f" * 100_000, "'" * 100_001):
    try:
        compile(text, "<s>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as err:
        print(type(err).__name__)
