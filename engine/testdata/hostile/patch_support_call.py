# expect: ok,error
# Calls the sandbox's host functions with nonsense.
import sys

values = (None, b"", b"\xff" * 10, b"\0" * 100, "x" * 100_000, -1, 2**31, 2**63, 1.5, [], {}, object(), bytearray(b"\xff\xff\xff\xff" * 4))
for name in [n for n in sys.modules if n.lstrip("_").startswith("mayfly")]:
    module = sys.modules[name]
    if getattr(module, "__file__", None):
        continue
    for attribute, function in list(vars(module).items()):
        if callable(function) and type(function).__name__ == "builtin_function_or_method":
            for value in values:
                for arguments in ((), (value,), (value, value), (value, value, value)):
                    try:
                        function(*arguments)
                    except Exception:
                        pass
print("called")
