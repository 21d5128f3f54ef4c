# expect: ok,error,memory_limit,timeout
list(range(3_000_000))
