# expect: error
err = ValueError("notes")
err.__notes__ = ["n"] * 100_000 + [5, None, "\ud800"]
raise err
