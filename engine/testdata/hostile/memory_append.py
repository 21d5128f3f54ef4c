# expect: error,memory_limit,timeout
a = []
while True:
    a.append("y" * 100_000 + str(len(a)))
