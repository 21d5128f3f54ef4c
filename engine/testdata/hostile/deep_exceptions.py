# expect: error
# The traceback of an exception with 100,000 causes.
err = ValueError("first")
for n in range(100_000):
    new = KeyError(n)
    new.__cause__ = err
    err = new
raise err
