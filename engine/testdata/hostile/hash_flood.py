# expect: timeout,ok,error
# Integers that all fall on one slot.
d = {}
step = 2**31 - 1
for n in range(200_000):
    d[n * step * (2**61 - 1)] = n
print(len(d))
