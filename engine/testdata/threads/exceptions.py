"""Exceptions that end threads."""

import _thread
import sys
import threading
import traceback

seen = []
threading.excepthook = lambda args: seen.append((args.exc_type, str(args.exc_value), args.thread.name))


def run(target, *args, name=None):
    t = threading.Thread(target=target, args=args, name=name)
    t.start()
    t.join()


def bad(text):
    raise ValueError(text)


run(bad, "boom", name="X")
assert seen == [(ValueError, "boom", "X")]

# SystemExit ends its thread alone, silently.
threading.excepthook = threading.__excepthook__
run(sys.exit, 3)
run(_thread.exit)
run(exit, 4)

# sys.exc_info belongs to a thread.
inside, outside = threading.Event(), threading.Event()
infos = []


def handle():
    try:
        raise KeyError("k")
    except KeyError:
        inside.set()
        outside.wait(30)
        infos.append(sys.exc_info()[0])


t = threading.Thread(target=handle)
t.start()
inside.wait(30)
infos.append(sys.exc_info()[0])
try:
    raise IndexError
except IndexError:
    outside.set()
    t.join()
    infos.append(sys.exc_info()[0])
assert infos == [None, KeyError, IndexError]


# An exception can be carried to another thread, with its traceback.
class Carrier(threading.Thread):
    def run(self):
        self.error = None
        try:
            bad("carried")
        except ValueError as exc:
            self.error = exc


carrier = Carrier()
carrier.start()
carrier.join()
try:
    raise carrier.error
except ValueError as exc:
    names = [frame.name for frame in traceback.extract_tb(exc.__traceback__)]
assert names[-2:] == ["run", "bad"], names

# Groups from several threads.
errors = []


def collect(i):
    try:
        bad(str(i))
    except ValueError as exc:
        errors.append(exc)


for i in range(3):
    run(collect, i)
try:
    raise ExceptionGroup("all", errors)
except* ValueError as group:
    assert len(group.exceptions) == 3
