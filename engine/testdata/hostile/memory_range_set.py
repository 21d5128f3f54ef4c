# expect: error,memory_limit,timeout
s = set(range(10**18))
