# expect: ok,error,timeout,memory_limit
import re

try:
    re.compile("((a{1,60000}){1,60000}){1,60000}").match("a" * 100_000)
    re.compile("|".join(f"a{n}" for n in range(200_000))).match("b")
except (RecursionError, re.error, OverflowError, MemoryError) as err:
    print(type(err).__name__)
