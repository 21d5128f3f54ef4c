"""What debuggers, profilers and other curious programs use."""

import faulthandler
import signal
import sys
import threading
import time
import traceback

errors = []


def run(n, target):
    threads = [threading.Thread(target=target) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


# Frames of other threads.
go = threading.Event()


def wait_here():
    go.wait(30)


t = threading.Thread(target=wait_here)
t.start()
time.sleep(0.01)
stack = traceback.extract_stack(sys._current_frames()[t.ident])
assert "wait_here" in [frame.name for frame in stack]
assert sys._current_exceptions()[t.ident] is None

# faulthandler sees them, too.
with open("dump.txt", "w+") as f:
    faulthandler.dump_traceback(f, all_threads=True)
    f.seek(0)
    dump = f.read()
assert "wait_here" in dump and dump.count("hread 0x") == 2, dump
go.set()
t.join()

# Profiling and tracing of new threads.
calls = []
threading.setprofile(lambda frame, event, arg: calls.append((event, frame.f_code.co_name)))
run(1, wait_here)
threading.setprofile(None)
assert ("call", "wait_here") in calls and ("return", "wait_here") in calls
lines = []


def trace(frame, event, arg):
    if frame.f_code.co_name == "wait_here":
        lines.append(event)
        return trace
    return None


threading.settrace(trace)
run(1, wait_here)
threading.settrace(None)
assert lines == ["call", "line", "return"], lines

# Signals belong to the main thread.
assert signal.getsignal(signal.SIGINT) is not None


def set_signal():
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError as exc:
        errors.append(exc)


run(1, set_signal)
assert len(errors) == 1 and "main thread" in str(errors[0])

# A thread can interrupt the main one.
import _thread

threading.Timer(0.02, _thread.interrupt_main).start()
try:
    while True:
        time.sleep(0.001)
except KeyboardInterrupt:
    pass

# The switch interval.
before = sys.getswitchinterval()
for interval in (1e-6, 0.5, before):
    sys.setswitchinterval(interval)
    run(2, lambda: sum(range(20_000)))
assert sys.getswitchinterval() == before

assert sys.thread_info.name == "pthread-stubs" or sys.thread_info.name == "pthread"

# Generators and coroutines go from thread to thread, but run in one at a time.
numbers = iter(range(1000))


def generate():
    for n in numbers:
        time.sleep(0)
        yield n


shared, taken = generate(), []


def take():
    while True:
        try:
            taken.append(next(shared))
        except ValueError:
            time.sleep(0)
        except StopIteration:
            return


run(4, take)
assert sorted(taken) == list(range(1000))
