# expect: ok,timeout
import os

block = b"y" * (1 << 20)
for _ in range(1 << 10):
    os.write(2, block)
