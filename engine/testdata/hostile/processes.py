# expect: ok
import asyncio
import os
import subprocess


async def shell():
    await asyncio.create_subprocess_shell("id")


made = []
for name, work in {
    "run": lambda: subprocess.run(["id"]),
    "shell": lambda: subprocess.check_output("id", shell=True),
    "Popen": lambda: subprocess.Popen(["/bin/sh", "-c", "id"]),
    "system": lambda: os.system("id > /tmp/id"),
    "popen": lambda: os.popen("id").read(),
    "execv": lambda: os.execv("/bin/sh", ["sh"]),
    "spawnl": lambda: os.spawnl(os.P_NOWAIT, "/bin/sh", "sh"),
    "asyncio": lambda: asyncio.run(shell()),
}.items():
    try:
        work()
        made.append(name)
    except (OSError, RuntimeError, AttributeError, NotImplementedError, ValueError) as err:
        print(name, type(err).__name__)
assert not made, made
