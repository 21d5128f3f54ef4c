# expect: error,memory_limit,timeout
a = None
while True:
    a = [a, {}]
