# expect: ok,error
import sys

raw = sys.stdout.detach()
raw.detach()
sys.stderr.buffer.raw.close()
print("x")
