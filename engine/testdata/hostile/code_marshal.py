# expect: ok,error,timeout,memory_limit,lost
# Damaged marshal data.
import marshal

good = marshal.dumps(compile("x = [i for i in range(3)]", "<s>", "exec"))
for n in range(0, len(good)):
    for value in (0, 0x7F, 0xFF):
        data = bytearray(good)
        data[n] = value
        try:
            marshal.loads(bytes(data))
        except (ValueError, EOFError, TypeError, MemoryError, SystemError, UnicodeDecodeError, OverflowError):
            pass
print("read")
