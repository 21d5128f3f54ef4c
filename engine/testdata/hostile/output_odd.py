# expect: ok,error
import os
import sys

os.write(1, bytes(range(256)))
print("\0\x1b[2J\r\u202e\u2028")
sys.stdout.flush()
print("\ud800")
