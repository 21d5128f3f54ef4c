# expect: ok,error
import os

for pid in (0, 1, -1, os.getpid() if hasattr(os, "getpid") else 1):
    try:
        os.kill(pid, 9)
    except (OSError, AttributeError) as err:
        print(type(err).__name__)
