# expect: ok,timeout
import sys

line = "x" * 1023 + "\n"
for _ in range(1 << 20):
    sys.stdout.write(line)
