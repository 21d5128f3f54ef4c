# expect: error,memory_limit
1 << 10**12
