# expect: ok,error
# A file takes the place of standard output.
import os

for fd in (0, 1, 2):
    os.close(fd)
fds = [os.open(f"file-{n}", os.O_RDWR | os.O_CREAT) for n in range(3)]
print("where does it go?", flush=True)
