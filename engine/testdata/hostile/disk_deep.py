# expect: ok,error,timeout
import os
import shutil

path, depth = "d", 0
try:
    while depth < 20_000:
        os.mkdir(path)
        path += "/d"
        depth += 1
except (OSError, MemoryError) as err:
    print(type(err).__name__)
print(sum(1 for _ in os.walk(".")) > 0)
try:
    shutil.rmtree("d")
except (RecursionError, OSError) as err:
    print(type(err).__name__)
