# expect: timeout
import asyncio


async def main():
    while True:
        try:
            await asyncio.sleep(0)
        except BaseException:
            pass


asyncio.run(main())
