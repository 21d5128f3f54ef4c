# expect: ok,error
import os

fds = []
try:
    while True:
        fds.append(os.open(".", os.O_RDONLY))
except (OSError, MemoryError) as err:
    print(type(err).__name__, len(fds) > 10)
# none is closed
