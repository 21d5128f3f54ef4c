"""asyncio's event loop for a sandbox: there are no sockets, pipes and signals to wait for, only time."""

import asyncio
import selectors
import time
from asyncio import base_events, events, selector_events, unix_events

_runner = None


class _Selector(selectors._BaseSelectorImpl):
    """Waits in the host, where an interrupt can end the wait."""

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("asyncio: every task waits for something that can no longer happen (deadlock)")
        if timeout > 0:
            time.sleep(timeout)
        return []


class SandboxEventLoop(selector_events.BaseSelectorEventLoop):
    """A loop of timers and ready callbacks. Without threads, run_in_executor runs the function at once."""

    def __init__(self, selector=None):
        super().__init__(selector or _Selector())

    def _make_self_pipe(self):
        pass

    def _close_self_pipe(self):
        pass

    def _write_to_self(self):
        pass

    def run_in_executor(self, executor, func, *args):
        future = self.create_future()
        try:
            result = func(*args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as exc:
            future.set_exception(exc)
        else:
            future.set_result(result)
        return future

    def add_signal_handler(self, sig, callback, *args):
        raise RuntimeError("signals are not available in the sandbox")

    def remove_signal_handler(self, sig):
        return False


def install():
    unix_events.SelectorEventLoop = asyncio.SelectorEventLoop = SandboxEventLoop
    unix_events._UnixDefaultEventLoopPolicy._loop_factory = SandboxEventLoop
    unix_events.EventLoop = asyncio.EventLoop = SandboxEventLoop


def run(coroutine):
    """Runs top-level await on a loop that lives as long as the session, so that tasks go on in its next step."""
    global _runner
    if _runner is None:
        _runner = asyncio.Runner(loop_factory=SandboxEventLoop)
    try:
        return _runner.run(coroutine)
    except BaseException as exc:
        if coroutine.cr_frame is not None:
            # The loop was interrupted while the program waited: tell where, then let the tasks clean up.
            exc.mayfly_waiting = _waiting(coroutine)
            close()
        raise


def _waiting(awaitable):
    """Returns the frames of a suspended coroutine, as (frame, line) pairs from the outside in."""
    frames = []
    while (frame := getattr(awaitable, "cr_frame", None)) is not None and len(frames) < 100:
        frames.append((frame, frame.f_lineno))
        awaitable = awaitable.cr_await
    return frames


def close():
    global _runner
    runner, _runner = _runner, None
    if runner is not None:
        runner.close()
