# expect: ok,error,lost
# Whatever the sandbox keeps inside the interpreter, the program can reach; it must not gain anything by it.
import sys

for name in [n for n in sys.modules if "mayfly" in n]:
    module = sys.modules[name]
    for attribute in list(vars(module)):
        try:
            setattr(module, attribute, lambda *args, **kwargs: b"\xff" * 1000)
        except (AttributeError, TypeError):
            pass
"changed"
