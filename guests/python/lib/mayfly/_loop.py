"""asyncio's event loop for a sandbox: there are no sockets, pipes and signals to wait for, only time and other threads."""

import _mayfly
import _thread
import asyncio
import selectors
from asyncio import base_events, events, selector_events, unix_events

_runner = None
_TIMEOUT_MAX = _thread.TIMEOUT_MAX


class _Selector(selectors._BaseSelectorImpl):
    """Waits for a lock, which another thread can release and an interrupt can end."""

    def __init__(self):
        super().__init__()
        self._wake = _thread.allocate_lock()
        self._wake.acquire()

    def select(self, timeout=None):
        if timeout is None:
            if not _mayfly.thread_count():
                raise _mayfly.DeadlockError("asyncio: every task waits for something that can no longer happen (deadlock)")
            self._wake.acquire()
        elif timeout > 0:
            self._wake.acquire(True, min(timeout, _TIMEOUT_MAX))
        else:
            self._wake.acquire(False)
        return []

    def wake(self):
        try:
            self._wake.release()
        except RuntimeError:
            pass  # it is awake


class SandboxEventLoop(selector_events.BaseSelectorEventLoop):
    """A loop of timers and ready callbacks."""

    def __init__(self, selector=None):
        super().__init__(selector if isinstance(selector, _Selector) else _Selector())

    def _make_self_pipe(self):
        pass

    def _close_self_pipe(self):
        pass

    def _write_to_self(self):
        self._selector.wake()

    def add_signal_handler(self, sig, callback, *args):
        raise NotImplementedError("signals are not available in the sandbox")

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
