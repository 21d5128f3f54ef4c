# expect: ok,error
# Modules of the workspace that hide those of the library.
for name in ("json", "traceback", "io", "ast", "os", "mayfly", "_mayfly", "encodings", "sitecustomize"):
    with open(name + ".py", "w") as f:
        f.write("raise SystemExit('shadowed')\n")
import sys

sys.path.insert(0, ".")
for name in ("json", "traceback", "ast", "mayfly"):
    sys.modules.pop(name, None)
[1, 2]
