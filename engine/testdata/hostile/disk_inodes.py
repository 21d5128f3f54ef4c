# expect: ok,error,timeout,memory_limit
import os

try:
    for n in range(300_000):
        os.close(os.open(f"f{n}", os.O_CREAT | os.O_WRONLY))
except (OSError, MemoryError) as err:
    print(type(err).__name__)
print(len(os.listdir(".")) > 0)
