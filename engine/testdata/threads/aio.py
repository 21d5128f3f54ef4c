"""asyncio with threads: to_thread, executors, and calls from other threads into the loop."""

import asyncio
import contextvars
import threading
import time
from concurrent.futures import ThreadPoolExecutor

variable = contextvars.ContextVar("variable")


async def threads_beside_the_loop():
    loop = asyncio.get_running_loop()
    begin = time.monotonic()
    await asyncio.gather(*[asyncio.to_thread(time.sleep, 0.1) for _ in range(5)])
    with ThreadPoolExecutor(10) as pool:
        await asyncio.gather(*[loop.run_in_executor(pool, time.sleep, 0.1) for _ in range(10)])
    assert 0.19 <= time.monotonic() - begin < 1

    variable.set("task")
    assert await asyncio.to_thread(variable.get) == "task"
    try:
        await asyncio.to_thread(lambda: 1 / 0)
    except ZeroDivisionError:
        pass
    else:
        raise AssertionError("the exception was lost")

    # The loop goes on meanwhile.
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.005)

    task = asyncio.create_task(tick())
    await asyncio.to_thread(time.sleep, 0.2)
    task.cancel()
    assert ticks > 3, ticks


async def calls_into_the_loop():
    loop = asyncio.get_running_loop()
    event = asyncio.Event()
    threading.Timer(0.02, loop.call_soon_threadsafe, (event.set,)).start()
    await asyncio.wait_for(event.wait(), 30)

    async def double(x):
        await asyncio.sleep(0.001)
        return 2 * x

    def other(x):
        return asyncio.run_coroutine_threadsafe(double(x), loop).result(30)

    assert await asyncio.gather(*[asyncio.to_thread(other, i) for i in range(8)]) == list(range(0, 16, 2))

    # Values stream from a thread.
    queue = asyncio.Queue()

    def produce():
        for i in range(100):
            loop.call_soon_threadsafe(queue.put_nowait, i)
            if i % 10 == 0:
                time.sleep(0.001)

    t = threading.Thread(target=produce)
    t.start()
    assert [await queue.get() for _ in range(100)] == list(range(100))
    t.join()


async def time_limits():
    go = threading.Event()
    try:
        async with asyncio.timeout(0.05):
            await asyncio.to_thread(go.wait, 30)
    except TimeoutError:
        pass
    else:
        raise AssertionError("no TimeoutError")
    go.set()
    future = asyncio.get_running_loop().run_in_executor(None, int)
    assert await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0, 7), asyncio.get_running_loop())) == 7
    assert await future == 0


asyncio.run(threads_beside_the_loop())
asyncio.run(calls_into_the_loop())
asyncio.run(time_limits())
