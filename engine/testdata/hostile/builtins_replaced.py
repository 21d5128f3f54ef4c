# expect: ok,error,lost
import builtins

for name in list(vars(builtins)):
    if name not in ("setattr", "list", "vars"):
        setattr(builtins, name, None)
x = 1
x
