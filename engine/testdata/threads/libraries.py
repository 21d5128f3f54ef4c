"""Modules that are written in C, used by several threads at once."""

import bz2
import collections
import csv
import hashlib
import io
import json
import lzma
import os
import pickle
import random
import re
import secrets
import statistics
import tempfile
import threading
import time
import uuid
import xml.etree.ElementTree as ET
import zlib

errors = []


def run(n, target):
    def guarded(i):
        try:
            target(i)
        except BaseException as exc:
            errors.append(exc)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors, errors


def check(i):
    data = (b"%d " % i) * 20_000
    digests = [hashlib.new(name, data).hexdigest() for name in ("md5", "sha1", "sha256", "sha512", "blake2b", "sha3_256")]
    for module in (zlib, bz2, lzma):
        time.sleep(0)
        assert module.decompress(module.compress(data)) == data
    compressor, pieces = zlib.compressobj(), []
    for k in range(0, len(data), 5000):
        pieces.append(compressor.compress(data[k : k + 5000]))
        time.sleep(0)
    assert zlib.decompress(b"".join(pieces) + compressor.flush()) == data
    assert digests == [
        hashlib.new(name, data).hexdigest() for name in ("md5", "sha1", "sha256", "sha512", "blake2b", "sha3_256")
    ]

    value = {"i": i, "list": list(range(200)), "text": "grün" * 50, "nested": {"a": [None, True, 1.5]}}
    assert json.loads(json.dumps(value)) == value == pickle.loads(pickle.dumps(value))
    own = random.Random(i)
    first = [own.random() for _ in range(100)]
    time.sleep(0)
    own.seed(i)
    assert [own.random() for _ in range(100)] == first
    assert re.sub(r"(\d+)", lambda m: str(int(m[1]) + i), "1 2 3") == f"{1 + i} {2 + i} {3 + i}"
    assert collections.Counter("abca" * 100)["a"] == 200 and statistics.mean(range(i + 1)) == i / 2
    rows = list(csv.reader(io.StringIO("a,b\n" * 100)))
    assert rows == [["a", "b"]] * 100
    tree = ET.fromstring("<r>" + "<x y='1'/>" * 200 + "</r>")
    assert len(tree) == 200 and ET.tostring(tree).count(b"<x") == 200
    assert int(str(7**3000)) == 7**3000


run(6, check)

# Random numbers and identifiers do not repeat.
values = []
run(8, lambda i: values.extend((random.random(), secrets.token_hex(), uuid.uuid4(), os.urandom(8)) for _ in range(50)))
for column in zip(*values):
    assert len(set(column)) == 400


# Files: each its own, and one for all.
def write_and_read(i):
    with tempfile.TemporaryDirectory() as directory:
        for k in range(10):
            name = os.path.join(directory, f"{i}-{k}")
            with open(name, "w") as f:
                f.write(f"{i} {k}\n" * 100)
            with open(name) as f:
                assert f.read() == f"{i} {k}\n" * 100
        assert len(os.listdir(directory)) == 10
    assert not os.path.exists(directory)


run(6, write_and_read)
with open("all.txt", "w") as out:
    run(8, lambda i: [out.write(f"{i}\n") for _ in range(500)])
with open("all.txt") as f:
    assert collections.Counter(f.read().split()) == {str(i): 500 for i in range(8)}
os.remove("all.txt")
