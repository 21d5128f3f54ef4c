# expect: timeout,memory_limit
n = 0
while True:
    n += 1
    try:
        with open(f"file-{n}", "wb") as f:
            f.write(bytes(1 << 20))
    except BaseException:
        pass
