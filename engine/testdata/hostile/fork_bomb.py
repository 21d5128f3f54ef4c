# expect: ok
import os

for n in range(50):
    for name in ("fork", "forkpty", "posix_spawn", "vfork"):
        call = getattr(os, name, None)
        if call is None:
            continue
        try:
            pid = call("/bin/sh", ["sh"], {}) if name == "posix_spawn" else call()
        except (OSError, RuntimeError, NotImplementedError):
            continue
        raise SystemExit(f"a process was made: {name} {pid}")
print("no process")
