# asyncio programs that need no sockets: gather, queues, timeouts, task groups, locks, async generators.
import asyncio, collections, contextlib, contextvars, random, time

req = contextvars.ContextVar('req', default='-')

async def fetch(i):
    req.set(i)
    await asyncio.sleep(0)
    if i % 13 == 5:
        raise LookupError(i)
    return {'id': i, 'items': [i] * (i % 4), 'ctx': req.get()}

async def pages(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i

async def pipeline():
    q, out = asyncio.Queue(8), []
    async def prod():
        async for p in pages(60):
            await q.put(p)
        for _ in range(3):
            await q.put(None)
    async def work(name):
        while (x := await q.get()) is not None:
            out.append((name, x * x))
    async with asyncio.TaskGroup() as tg:
        tg.create_task(prod())
        for i in range(3):
            tg.create_task(work(i))
    return len(out)

async def limits():
    sem, lock, ev, seen = asyncio.Semaphore(4), asyncio.Lock(), asyncio.Event(), collections.Counter()
    async def job(i):
        async with sem:
            await asyncio.sleep(0)
            async with lock:
                seen[i % 5] += 1
            if i == 30:
                ev.set()
    ts = [asyncio.create_task(job(i), name=f'j{i}') for i in range(60)]
    await ev.wait()
    done, pending = await asyncio.wait(ts)
    try:
        async with asyncio.timeout(0.0001):
            await asyncio.sleep(1)
    except TimeoutError:
        seen['timeout'] += 1
    t = asyncio.create_task(asyncio.sleep(9))
    await asyncio.sleep(0)
    t.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await t
    return dict(seen), len(done)

async def main():
    rs = await asyncio.gather(*(fetch(i) for i in range(120)), return_exceptions=True)
    bad = [r for r in rs if isinstance(r, Exception)]
    first = await asyncio.wait_for(fetch(1), 1)
    xs = [x async for x in pages(30) if x % 2]
    for f in asyncio.as_completed([fetch(i) for i in range(10) if i != 5]):
        await f
    fut = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(fut.set_result, 5)
    return len(bad), first, sum(xs), await fut, await pipeline(), await limits()

for _ in range(18):
    print(asyncio.run(main()))
