"""Threads and `await` outside of functions, which is a service of the sandbox."""

import asyncio
import threading
import time

loop = asyncio.get_running_loop()
assert await asyncio.to_thread(lambda: 42) == 42

begin = time.monotonic()
await asyncio.gather(*[asyncio.to_thread(time.sleep, 0.1) for _ in range(4)])
assert time.monotonic() - begin < 0.5

event = asyncio.Event()
threading.Timer(0.02, loop.call_soon_threadsafe, (event.set,)).start()
await event.wait()


def elsewhere():
    return asyncio.run_coroutine_threadsafe(asyncio.sleep(0.001, "from the loop"), loop).result(30)


assert await asyncio.to_thread(elsewhere) == "from the loop"
async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(asyncio.to_thread(pow, 2, i)) for i in range(10)]
assert [t.result() for t in tasks] == [2**i for i in range(10)]
