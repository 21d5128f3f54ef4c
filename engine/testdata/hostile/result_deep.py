# expect: ok,error
deep = []
for _ in range(100_000):
    deep = [deep]
deep
