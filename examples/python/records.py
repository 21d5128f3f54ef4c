"""Writes and reads a binary file format with an index, checksums and recovery; pickles and signs what it found."""

import array
import base64
import binascii
import hashlib
import hmac
import io
import json
import os
import pickle
import struct
from pathlib import Path

MAGIC = b"RECS\x01\x00"
HEADER = struct.Struct("<6sHI")
RECORD = struct.Struct("<IqdH")


class Corrupt(Exception):
    pass


def write(path: Path, readings):
    offsets = array.array("Q")
    with path.open("wb") as f:
        f.write(HEADER.pack(MAGIC, 1, len(readings)))
        for number, (stamp, value, label) in enumerate(readings):
            offsets.append(f.tell())
            body = RECORD.pack(number, stamp, value, len(label.encode())) + label.encode()
            f.write(body + struct.pack("<I", binascii.crc32(body)))
        index = f.tell()
        f.write(offsets.tobytes())
        f.write(struct.pack("<Q", index))
    return path.stat().st_size


def read_at(f, offset):
    f.seek(offset)
    head = f.read(RECORD.size)
    if len(head) < RECORD.size:
        raise Corrupt(f"offset {offset}: the file ends")
    number, stamp, value, length = RECORD.unpack(head)
    label = f.read(length)
    crc = f.read(4)
    if len(crc) < 4 or struct.unpack("<I", crc)[0] != binascii.crc32(head + label):
        raise Corrupt(f"offset {offset}: wrong checksum")
    return number, stamp, value, label.decode()


def read(path: Path):
    with path.open("rb") as f:
        magic, version, count = HEADER.unpack(f.read(HEADER.size))
        if magic != MAGIC:
            raise Corrupt(f"not a record file: {magic!r}")
        f.seek(-8, os.SEEK_END)
        (index,) = struct.unpack("<Q", f.read(8))
        if index + 8 * count + 8 != path.stat().st_size:
            raise Corrupt("the index is missing")
        f.seek(index)
        offsets = array.array("Q", f.read(8 * count))
        good, bad = [], []
        for offset in offsets:
            try:
                good.append(read_at(f, offset))
            except Corrupt as err:
                bad.append(str(err))
    return version, good, bad


class Restricted(pickle.Unpickler):
    """Unpickles plain data only."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} is not allowed")


class Evil:
    def __reduce__(self):
        return os.getcwd, ()


def main():
    path = Path("readings.recs")
    readings = [(1_700_000_000 + 60 * n, (n * 37 % 1000) / 8 - 20, f"sensor-{n % 7}" + "é" * (n % 3)) for n in range(2000)]
    print(f"{write(path, readings):,} bytes written")
    version, good, bad = read(path)
    print(f"version {version}: {len(good)} records, {len(bad)} bad, same: {[r[1:] for r in good] == readings}")
    print("record 1234:", good[1234])

    with path.open("r+b") as f:
        for position in (500, 5_000, 50_000):
            f.seek(position)
            byte = f.read(1)
            f.seek(position)
            f.write(bytes([byte[0] ^ 0x55]))
    _, good, bad = read(path)
    print(f"after damage: {len(good)} records, {len(bad)} bad")
    for reason in bad:
        print("  " + reason)
    with path.open("r+b") as f:
        f.truncate(10_000)
    try:
        read(path)
    except Corrupt as err:
        print("truncated:", err)
    path.unlink()

    summary = {"records": len(good), "mean": sum(r[2] for r in good) / len(good), "labels": sorted({r[3] for r in good})[:4]}
    text = json.dumps(summary, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    print(text)
    for name in ("md5", "sha1", "sha256", "sha3_256", "blake2b"):
        print(f"  {name:<9}{hashlib.new(name, text.encode()).hexdigest()[:32]}")
    signature = hmac.new(b"secret", text.encode(), "sha256").digest()
    print("signature:", base64.urlsafe_b64encode(signature).decode(), hmac.compare_digest(signature, signature[:]))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        data = pickle.dumps(summary, protocol)
        print(f"  pickle {protocol}: same {Restricted(io.BytesIO(data)).load() == summary}")
    try:
        Restricted(io.BytesIO(pickle.dumps(Evil()))).load()
    except pickle.UnpicklingError as err:
        print("refused:", str(err).replace("posix.", "os.").replace("nt.", "os."))
    numbers = array.array("d", (r[2] for r in good[:6]))
    view = memoryview(numbers).cast("B")
    print("bytes of a double:", view[:8].hex(" "), "|", struct.unpack(">d", bytes(reversed(view[:8])))[0], numbers.tolist())
    print("bits:", f"{0xBEEF:016b}", (1000).to_bytes(3, "big"), int.from_bytes(b"\xff\xfe", "little", signed=True), (255).bit_count())


if __name__ == "__main__":
    main()
