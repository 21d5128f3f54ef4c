"""An asyncio program with blocking parts: functions that block run in threads, a queue leads from threads to tasks and
back, and the event loop goes on meanwhile."""

import asyncio
import hashlib
import queue
import threading
import time

WORDS = "amber birch cedar dune ember flint grove heath islet juniper".split()


def fingerprint(word: str) -> str:
    """Stands in for a library that knows nothing of asyncio."""
    time.sleep(0.01)
    return hashlib.blake2b(word.encode(), digest_size=4).hexdigest()


async def heartbeat(beats: list):
    while True:
        beats.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.002)


async def blocking_functions():
    beats = []
    heart = asyncio.create_task(heartbeat(beats))
    marks = await asyncio.gather(*(asyncio.to_thread(fingerprint, word) for word in WORDS))
    heart.cancel()
    for word, mark in zip(WORDS, marks):
        print(f"{word:<8} {mark}")
    print("the loop went on meanwhile:", len(beats) > 1)


class Workers:
    """Threads that take jobs from one queue and put what they find into another."""

    def __init__(self, count: int):
        self.jobs, self.found = queue.Queue(maxsize=4), queue.Queue()
        self.threads = [threading.Thread(target=self.run, name=f"worker-{n}") for n in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while (job := self.jobs.get()) is not None:
            try:
                low, high = job
                self.found.put((job, [n for n in range(low, high) if is_perfect(n)]))
            finally:
                self.jobs.task_done()

    def stop(self):
        for _ in self.threads:
            self.jobs.put(None)
        for thread in self.threads:
            thread.join()


def is_perfect(n: int) -> bool:
    return n > 1 and n == 1 + sum(d + n // d for d in range(2, int(n**0.5) + 1) if n % d == 0)


async def jobs_for_threads():
    workers = Workers(3)
    chunks = [(low, low + 500) for low in range(0, 9000, 500)]

    async def feed():
        for chunk in chunks:
            await asyncio.to_thread(workers.jobs.put, chunk)  # blocks while the queue is full

    async def collect():
        return [await asyncio.to_thread(workers.found.get) for _ in chunks]

    _, found = await asyncio.gather(feed(), collect())
    await asyncio.to_thread(workers.stop)
    print("perfect numbers:", sorted(n for _, numbers in found for n in numbers))
    print("each chunk once:", sorted(chunk for chunk, _ in found) == chunks)


async def events_from_a_thread():
    """A thread hands lines to a task, and asks the loop for a value."""
    loop = asyncio.get_running_loop()
    lines = asyncio.Queue()

    async def total(numbers):
        await asyncio.sleep(0)
        return sum(numbers)

    def sensor():
        for n in range(5):
            time.sleep(0.002)
            loop.call_soon_threadsafe(lines.put_nowait, f"reading {n}: {n * n}")
        answer = asyncio.run_coroutine_threadsafe(total(n * n for n in range(5)), loop).result(30)
        loop.call_soon_threadsafe(lines.put_nowait, f"total {answer}")
        loop.call_soon_threadsafe(lines.put_nowait, None)

    thread = threading.Thread(target=sensor)
    thread.start()
    while (line := await lines.get()) is not None:
        print(line)
    thread.join()


async def failures_and_limits():
    def broken():
        raise KeyError("colour")

    answers = await asyncio.gather(
        asyncio.to_thread(broken), asyncio.to_thread(str.upper, "fine"), return_exceptions=True
    )
    print("failures come back:", answers)
    release = threading.Event()
    try:
        async with asyncio.timeout(0.05):
            await asyncio.to_thread(release.wait)
    except TimeoutError:
        print("the task gave up; the thread still waits:", not release.is_set())
    release.set()


async def main():
    await blocking_functions()
    await jobs_for_threads()
    await events_from_a_thread()
    await failures_and_limits()


if __name__ == "__main__":
    asyncio.run(main())
