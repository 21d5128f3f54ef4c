# expect: error
err = ValueError("first")
for _ in range(5_000):
    err = ExceptionGroup("group", [err, TypeError()])
raise err
