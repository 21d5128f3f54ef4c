# expect: timeout
# A loop by a forward jump of nearly 2**32 instructions, which wraps around and so goes back.
from opcode import opmap


def f():
    return 1


extended, jump = opmap["EXTENDED_ARG"], opmap["JUMP_FORWARD"]
code = bytes([opmap["RESUME"], 0, extended, 255, extended, 255, extended, 255, jump, 252])
f.__code__ = f.__code__.replace(co_code=code)
f()
