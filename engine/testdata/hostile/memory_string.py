# expect: error,memory_limit
s = "x" * 10**12
