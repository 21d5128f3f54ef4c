# expect: timeout
# A generator that ignores being closed.
def stubborn():
    while True:
        try:
            yield
        except BaseException:
            pass


gens = [stubborn() for _ in range(100)]
for g in gens:
    next(g)
while True:
    for g in gens:
        try:
            g.throw(TimeoutError)
        except BaseException:
            pass
