# expect: ok,error,memory_limit,timeout
import bz2
import lzma

lzma.compress(b"x" * 1000, preset=9 | lzma.PRESET_EXTREME)
print(len(bz2.decompress(bz2.compress(bytes(100 << 20)))))
