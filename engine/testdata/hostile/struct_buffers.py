# expect: ok
import array
import struct

for work in (
    lambda: struct.calcsize("9" * 30 + "s"),
    lambda: struct.unpack_from("<I", b"abc", -2**31),
    lambda: struct.pack_into("<Q", bytearray(4), 2**31 - 1, 1),
    lambda: memoryview(b"x" * 100).cast("B", (2**30, 2**30)),
    lambda: array.array("d", [0.0]) * (2**31),
    lambda: bytearray(10).__imul__(2**31),
    lambda: b"x".zfill(2**31),
    lambda: "x".ljust(2**31),
    lambda: b"".join([bytes(2**20)] * 2**12),
    lambda: int.from_bytes(bytes(2**20), "big").to_bytes(-1, "big"),
    lambda: "".join(["x" * 2**20] * 2**11),
    lambda: (b"x" * 2**20).replace(b"x", b"y" * 2**12),
):
    try:
        work()
    except (struct.error, MemoryError, OverflowError, ValueError, TypeError) as err:
        print(type(err).__name__)
