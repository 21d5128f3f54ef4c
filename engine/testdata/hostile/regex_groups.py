# expect: ok,error
# A pattern with 100,000 nested groups.
import re

for pattern in ("(" * 100_000 + ")" * 100_000, "(?:" * 100_000 + "a" + ")*" * 100_000, "[" * 100_000):
    try:
        re.compile(pattern)
    except (RecursionError, re.error, OverflowError, MemoryError) as err:
        print(type(err).__name__)
