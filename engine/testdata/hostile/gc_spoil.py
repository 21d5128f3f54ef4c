# expect: ok,error,timeout,lost
# Clears every dictionary that it can reach.
import gc

for thing in gc.get_objects():
    if type(thing) is dict and thing is not globals() and "__builtins__" in thing:
        thing.pop("__builtins__", None)
for thing in gc.get_objects():
    if type(thing) is dict and thing is not globals():
        thing.clear()
