# expect: ok,error,lost
# Walks up to frames that are not its own, and spoils them.
import sys

frame = sys._getframe()
while frame is not None:
    for name in list(frame.f_globals):
        if not name.startswith("__") and frame.f_globals is not globals():
            frame.f_globals[name] = None
    frame.f_trace = lambda *args: 1 / 0
    frame = frame.f_back
print("spoilt")
