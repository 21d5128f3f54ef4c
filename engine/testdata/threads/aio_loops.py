"""Event loops in other threads than the main one."""

import asyncio
import threading
import time

# A loop of its own in a thread, which others give work to.
loop = asyncio.new_event_loop()
thread = threading.Thread(target=loop.run_forever)
thread.start()


async def add(a, b):
    await asyncio.sleep(0.001)
    return a + b


futures = [asyncio.run_coroutine_threadsafe(add(i, i), loop) for i in range(20)]
assert [f.result(30) for f in futures] == list(range(0, 40, 2))

# One that waits for ever can be cancelled from outside.
forever = asyncio.run_coroutine_threadsafe(asyncio.sleep(1000), loop)
time.sleep(0.01)
assert forever.cancel()

loop.call_soon_threadsafe(loop.stop)
thread.join()
loop.close()

# asyncio.run in several threads at once.
results = []


def run(i):
    async def main():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(add(i, k)) for k in range(5)]
        assert asyncio.get_running_loop() is not loop
        return [t.result() for t in tasks]

    results.append((i, asyncio.run(main())))


threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert sorted(results) == [(i, [i + k for k in range(5)]) for i in range(8)]


# Two loops talk to each other.
async def relay():
    there = asyncio.new_event_loop()
    t = threading.Thread(target=there.run_forever)
    t.start()
    value = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(add(20, 22), there))
    there.call_soon_threadsafe(there.stop)
    await asyncio.to_thread(t.join)
    there.close()
    return value


assert asyncio.run(relay()) == 42
