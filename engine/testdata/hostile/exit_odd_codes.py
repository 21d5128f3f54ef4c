# expect: error
import sys


class Code:
    def __str__(self):
        raise ValueError("no string")

    __repr__ = __str__


sys.exit(Code())
