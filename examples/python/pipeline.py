"""An asyncio pipeline: producers, bounded queues, workers with retries, timeouts and an orderly end."""

import asyncio
import hashlib
from collections import Counter
from contextlib import asynccontextmanager


class Flaky(Exception):
    pass


class Source:
    """Stands in for a remote service: slow for some items, failing once for others, broken for a few."""

    def __init__(self):
        self.attempts = Counter()
        self.open = 0
        self.most_open = 0

    @asynccontextmanager
    async def connection(self):
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            yield self
        finally:
            self.open -= 1

    async def fetch(self, item: int) -> bytes:
        self.attempts[item] += 1
        await asyncio.sleep(0.001)
        if item % 17 == 5:
            await asyncio.sleep(30)  # never answers in time
        if item % 7 == 3 and self.attempts[item] == 1:
            raise Flaky(f"item {item}: try again")
        if item % 23 == 11:
            raise ValueError(f"item {item} is broken")
        return f"payload {item}".encode() * (1 + item % 5)


async def produce(queue: asyncio.Queue, items):
    for item in items:
        await queue.put(item)


async def fetch_worker(source, incoming, outgoing, failures, limit):
    while True:
        item = await incoming.get()
        try:
            for attempt in range(3):
                try:
                    async with limit, source.connection() as connection, asyncio.timeout(0.4):
                        payload = await connection.fetch(item)
                    await outgoing.put((item, payload))
                    break
                except (Flaky, TimeoutError) as err:
                    if attempt == 2 or isinstance(err, TimeoutError):
                        failures.append((item, type(err).__name__))
                        break
        except ValueError as err:
            failures.append((item, str(err)))
        finally:
            incoming.task_done()


async def digest(queue: asyncio.Queue, results: dict):
    while (entry := await queue.get()) is not None:
        item, payload = entry
        results[item] = hashlib.sha256(payload).hexdigest()[:12]


async def run_pipeline():
    source, results, failures = Source(), {}, []
    incoming, outgoing = asyncio.Queue(maxsize=8), asyncio.Queue(maxsize=4)
    limit = asyncio.Semaphore(5)
    async with asyncio.TaskGroup() as group:
        workers = [
            group.create_task(fetch_worker(source, incoming, outgoing, failures, limit), name=f"worker-{n}")
            for n in range(10)
        ]
        sink = group.create_task(digest(outgoing, results))
        await asyncio.gather(produce(incoming, range(0, 60, 2)), produce(incoming, range(1, 60, 2)))
        await incoming.join()
        for worker in workers:
            worker.cancel()
        await outgoing.put(None)
        await sink
    print(f"{len(results)} digests, {len(failures)} failures, at most {source.most_open} connections")
    print("retried:", sorted(item for item, count in source.attempts.items() if count > 1))
    for item, reason in sorted(failures):
        print(f"  {item}: {reason}")
    print("sum:", hashlib.sha256("".join(results[k] for k in sorted(results)).encode()).hexdigest()[:16])


async def group_failure():
    async def fail(delay, text):
        await asyncio.sleep(delay)
        raise LookupError(text)

    cancelled = []

    async def patient():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("patient")
            raise

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(patient())
            group.create_task(fail(0.01, "first"))
    except* LookupError as errors:
        print("group failed with", [str(e) for e in errors.exceptions], "and cancelled", cancelled)


async def main():
    await run_pipeline()
    await group_failure()
    answers = await asyncio.gather(asyncio.sleep(0.02, "slow"), asyncio.sleep(0, "fast"), return_exceptions=True)
    print("gather keeps the order:", answers)
    try:
        await asyncio.wait_for(asyncio.sleep(5), 0.02)
    except TimeoutError:
        print("wait_for gave up")
    order = []
    for task in asyncio.as_completed([asyncio.sleep(d / 20, d) for d in (4, 1, 3, 2)]):
        order.append(await task)
    print("completed in order", order)


if __name__ == "__main__":
    asyncio.run(main())
