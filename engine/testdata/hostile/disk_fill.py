# expect: ok,error,timeout
written = 0
try:
    with open("big", "wb", buffering=0) as f:
        block = bytes(1 << 20)
        while True:
            written += f.write(block)
except (OSError, MemoryError) as err:
    print(type(err).__name__, written > 0)
