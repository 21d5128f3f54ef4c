# expect: timeout
import re

while True:
    try:
        re.search(r"(x+x+)+y", "x" * 200)
    except BaseException:
        pass
