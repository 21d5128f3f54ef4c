# expect: ok,error
import os

for fd in (0, 1, 2):
    os.close(fd)
print("into the void")
