# expect: error,memory_limit,timeout
s = "ab"
while True:
    s = s.join([s] * 10)
