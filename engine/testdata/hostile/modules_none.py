# expect: ok,error,lost
import sys

for name in list(sys.modules):
    sys.modules[name] = None
del sys.__dict__["modules"]
{"a": 1}
