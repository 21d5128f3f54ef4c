# expect: timeout,error
import asyncio

asyncio.run(asyncio.Event().wait())
