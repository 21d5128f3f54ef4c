# expect: ok
# Nothing of the host can be read.
import os

secrets = []
for path in (
    "/etc/passwd",
    "/etc/hostname",
    "/proc/self/environ",
    "/proc/self/maps",
    "/proc/1/cmdline",
    "/proc/cpuinfo",
    "/sys/kernel",
    "/dev/mem",
    "/root",
    "/home",
    "../etc/passwd",
    "../../../../../../etc/passwd",
    "/workspace/../etc/passwd",
    "/tmp/../../etc/passwd",
    "/workspace/./../../etc/passwd",
    "//etc/passwd",
    "/./etc/passwd",
    "C:\\Windows\\win.ini",
    "file:///etc/passwd",
):
    for read in (lambda p: open(p, "rb").read(10), os.listdir, os.readlink, lambda p: os.open(p, os.O_RDONLY)):
        try:
            read(path)
            secrets.append(path)
        except (OSError, AttributeError, ValueError):
            pass
assert not secrets, secrets
print("nothing found")
