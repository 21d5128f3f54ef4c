# expect: ok
# What was freed can be had again: 20 times 100 MiB.
total = 0
for n in range(20):
    total += len(bytearray(100 << 20))
print(total >> 20)
