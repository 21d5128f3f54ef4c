# expect: timeout,memory_limit,error
n = 10**10**8
