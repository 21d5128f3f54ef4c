# expect: ok,memory_limit
# A program may go on after MemoryError.
try:
    a = []
    while True:
        a.append(bytearray(16 << 20))
except MemoryError:
    count = len(a)
    del a
print("survived", count > 0)
