# expect: error
err = SyntaxError("odd", ("file", 10**10, -5, "x" * 100_000, 2**40, 7))
err.text, err.filename, err.offset, err.lineno = 5, object(), "x", [1]
raise err
