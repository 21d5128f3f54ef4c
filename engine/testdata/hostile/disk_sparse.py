# expect: ok
# Nothing that a quota does not cover.
import os

for size in (2**31, 2**40, 2**62, 2**63 - 1):
    try:
        with open("sparse", "wb") as f:
            f.seek(size - 1)
            f.write(b"x")
    except (OSError, OverflowError, MemoryError) as err:
        print("write", type(err).__name__)
    try:
        with open("sparse", "wb") as f:
            f.truncate(size)
    except (OSError, OverflowError, MemoryError) as err:
        print("truncate", type(err).__name__)
    if os.path.exists("sparse"):
        os.remove("sparse")
