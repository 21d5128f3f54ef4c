"""Logging and printing from threads: lines stay whole."""

import io
import logging
import logging.handlers
import queue
import sys
import threading
import time
import warnings


def run(n, target):
    threads = [threading.Thread(target=target, args=(i,), name=f"T{i}") for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


# All records arrive, with the name of their thread.
stream = io.StringIO()
handler = logging.StreamHandler(stream)
handler.setFormatter(logging.Formatter("%(threadName)s %(message)s"))
log = logging.getLogger("mine")
log.addHandler(handler)
log.propagate = False
log.setLevel(logging.INFO)
run(6, lambda i: [log.info("record %d of %d", k, i) for k in range(50)])
lines = stream.getvalue().splitlines()
assert len(lines) == 300
assert sorted(lines) == sorted(f"T{i} record {k} of {i}" for i in range(6) for k in range(50))

# Through a queue, with a listener in a thread of its own.
records = queue.Queue()
collected = io.StringIO()
listener = logging.handlers.QueueListener(records, logging.StreamHandler(collected))
listener.start()
log.handlers = [logging.handlers.QueueHandler(records)]
run(4, lambda i: [log.info("%d-%d", i, k) for k in range(25)])
listener.stop()
assert sorted(collected.getvalue().split()) == sorted(f"{i}-{k}" for i in range(4) for k in range(25))

# print(): the test that runs this looks at the lines.
run(8, lambda i: [print(f"<{i}:{'x' * 60}>") or time.sleep(0) for _ in range(50)])
run(4, lambda i: [sys.stdout.write(f"<{i}:{'y' * 300}>\n") for _ in range(25)])

# A stream of one's own for each thread.
parts = {}


def own(i):
    buffer = io.StringIO()
    for k in range(50):
        print(i, k, file=buffer)
        time.sleep(0)
    parts[i] = buffer.getvalue()


run(4, own)
assert parts == {i: "".join(f"{i} {k}\n" for k in range(50)) for i in range(4)}

# Warnings are told once.
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("once")
    run(4, lambda i: warnings.warn("the same"))
assert len(caught) == 1
