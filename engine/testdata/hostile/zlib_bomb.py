# expect: error,memory_limit,timeout
# 64 MiB of zeros from 64 KiB, again and again.
import zlib

packer = zlib.compressobj(9)
packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush(zlib.Z_SYNC_FLUSH)
unpacker = zlib.decompressobj()
out = []
while True:
    out.append(unpacker.copy().decompress(packed))
