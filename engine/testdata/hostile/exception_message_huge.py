# expect: error,memory_limit
raise ValueError("m" * (50 << 20))
