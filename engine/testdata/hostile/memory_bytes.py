# expect: error,memory_limit
b = bytearray(2**31 - 1)
