# expect: timeout,memory_limit
# Keeps everything, and tries again for ever.
a = []
while True:
    try:
        while True:
            a.append(bytes(1 << 20))
    except BaseException:
        pass
