# expect: timeout
# A loop by the jump that the interpreter never interrupts, since its compiler only uses it inside of await.
from opcode import opmap


def f():
    return 1


code = bytes([opmap["RESUME"], 0, opmap["JUMP_BACKWARD_NO_INTERRUPT"], 1])
f.__code__ = f.__code__.replace(co_code=code)
f()
