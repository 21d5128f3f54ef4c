# expect: ok,error,memory_limit
print("z" * (100 << 20))
