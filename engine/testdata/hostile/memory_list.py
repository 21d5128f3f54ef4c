# expect: error,memory_limit
a = [0] * 10**10
