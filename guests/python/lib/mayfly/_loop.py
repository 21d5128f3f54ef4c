"""asyncio's event loop for a sandbox: there are no sockets, pipes and signals to wait for, only time, other threads and calls
of the host."""

import _mayfly
import _thread
import asyncio
import functools
import selectors
from asyncio import base_events, events, selector_events, unix_events

from mayfly import _host

_runner = None
_TIMEOUT_MAX = _thread.TIMEOUT_MAX


class _Selector(selectors._BaseSelectorImpl):
    """Waits for a lock, which another thread can release and an interrupt can end; or in the host, when tasks have started calls
    there."""

    def __init__(self):
        super().__init__()
        self._wake = _thread.allocate_lock()
        self._wake.acquire()
        self.calls = _host.Calls()
        self._in_host = False

    def select(self, timeout=None):
        if self.calls.pending or self.calls.lost:
            return self._wait(timeout)
        if timeout is None:
            if not _mayfly.thread_count():
                raise _mayfly.DeadlockError("asyncio: every task waits for something that can no longer happen (deadlock)")
            self._wake.acquire()
        elif timeout > 0:
            self._wake.acquire(True, min(timeout, _TIMEOUT_MAX))
        else:
            self._wake.acquire(False)
        return []

    def _wait(self, timeout):
        # Whoever wakes this loop after the next line sees that the host has to be told; who did so before has released the lock.
        self._in_host = True
        try:
            return self.calls.wait(0 if self._wake.acquire(False) else timeout)
        finally:
            self._in_host = False
            self._wake.acquire(False)

    def wake(self):
        try:
            self._wake.release()
        except RuntimeError:
            pass  # it is awake
        if self._in_host:
            self.calls.wake()

    def close(self):
        self.calls.close()
        super().close()


class SandboxEventLoop(selector_events.BaseSelectorEventLoop):
    """A loop of timers, ready callbacks and calls of the host."""

    def __init__(self, selector=None):
        super().__init__(selector if isinstance(selector, _Selector) else _Selector())
        self.host_calls = self._selector.calls

    def _process_events(self, event_list):
        for future, answer in event_list:
            if not future.done():
                future.set_result(answer)

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


_asyncio_run, _current_task = asyncio.run, asyncio.current_task
_program = None  # the task that a program with top-level await runs in


def enter():
    """The program begins, in the present task."""
    global _program
    _program = _current_task()


@functools.wraps(_asyncio_run)
def _nested_run(*args, **kwargs):
    # All of a program with top-level await runs in a loop. It may use a loop of its own, while that one stands still.
    loop = events._get_running_loop()
    if loop is None or _program is None or _current_task(loop) is not _program:
        return _asyncio_run(*args, **kwargs)
    events._set_running_loop(None)
    try:
        return _asyncio_run(*args, **kwargs)
    finally:
        events._set_running_loop(loop)


def install():
    asyncio.run = asyncio.runners.run = _nested_run
    unix_events.SelectorEventLoop = asyncio.SelectorEventLoop = SandboxEventLoop
    unix_events._UnixDefaultEventLoopPolicy._loop_factory = SandboxEventLoop
    unix_events.EventLoop = asyncio.EventLoop = SandboxEventLoop


def run(coroutine):
    """Runs top-level await on a loop that lives as long as the session, so that tasks go on in its next step."""
    global _runner, _program
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
    finally:
        _program = None


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
