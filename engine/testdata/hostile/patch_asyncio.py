# expect: ok,error,timeout
import asyncio

asyncio.run = asyncio.new_event_loop = asyncio.get_event_loop = lambda *args: 1 / 0
asyncio.set_event_loop_policy(object.__new__(asyncio.DefaultEventLoopPolicy))
loop = asyncio.SelectorEventLoop()
loop.call_soon(loop.call_soon, loop.stop)
loop.run_forever()
loop.run_forever = None
3
