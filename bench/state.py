# What files cost. The same source runs in sandboxes and in the native interpreter; each call of measure() does one thing in
# a directory and returns how many files, or bytes, it was about.
import os
import random

SMALL = 4096
LINE = b"a line of a log as programs write them\n"
MIB = 1 << 20
PIECE = 1 << 16

block = bytearray(random.Random(1).randbytes(MIB))
serial = random.getrandbits(40)


def stamp(at):
    """Makes the block, from an index on, different from all that was written before: a store keeps equal data once."""
    global serial
    serial += 1
    block[at:at + 8] = serial.to_bytes(8, "little")


def small(directory, n):
    return (os.path.join(directory, f"small-{i}") for i in range(n))


def create(directory, n):
    for name in small(directory, n):
        stamp(0)
        with open(name, "wb") as f:
            f.write(memoryview(block)[:SMALL])
    return n


def read(directory, n):
    size = 0
    for name in small(directory, n):
        with open(name, "rb") as f:
            size += len(f.read())
    return n if size >= n * SMALL else size


def append(directory, n):
    for name in small(directory, n):
        with open(name, "ab") as f:
            f.write(LINE)
    return n


def write_sequential(directory, n):
    with open(os.path.join(directory, "large"), "wb", buffering=0) as f:
        for _ in range(n):
            for at in range(0, MIB, PIECE):
                stamp(at)
            f.write(block)
    return n


def read_sequential(directory, n):
    size = 0
    with open(os.path.join(directory, "large"), "rb", buffering=0) as f:
        while data := f.read(MIB):
            size += len(data)
    return size // MIB


def remove(directory, n):
    names = os.listdir(directory)
    for name in names:
        os.remove(os.path.join(directory, name))
    return n


MEASURES = {f.__name__: f for f in (create, read, append, write_sequential, read_sequential, remove)}


def measure(what):
    name, n, directory = what.split(" ", 2)
    return MEASURES[name](directory, int(n))
