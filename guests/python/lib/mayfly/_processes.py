"""multiprocessing in a sandbox: a process is a fork of it, which runs on another core and gives back what it pickled.

The fork has a copy of everything, so functions and arguments need no pickling. Nothing is shared: what a process puts into a
queue arrives when it ends, and it cannot take anything out of one.
"""

import _mayfly
import _thread
import concurrent.futures
import itertools
import multiprocessing
import os
import pickle
import queue
import sys
import threading
import weakref

from mayfly import _threads

OP_FORK = 4

_HINT = "a process in the sandbox is a copy of it: return results or put them into a Queue, or use threads to share state"

_keys = itertools.count(1)
_pids = itertools.count(2)
_queues = weakref.WeakValueDictionary()
_pools = weakref.WeakSet()
_tasks = {}  # what forks are to run
_sent = None  # in a fork: what was put into queues


def _unsupported(what):
    exc = RuntimeError(f"{what} is not available between processes of the sandbox")
    exc.mayfly_hint = _HINT
    return exc


# ---- forks


def start(function):
    """Forks the sandbox; the fork runs the function, whose result is pickled. Returns a handle."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    key = next(_keys)
    _tasks[key] = function
    try:
        return _mayfly.fork(OP_FORK.to_bytes(4, "little") + b"\2\0\0\0{}" + key.to_bytes(8, "little"))
    except RuntimeError as exc:
        exc.mayfly_hint = "a process cannot start others; start them in the main program"
        raise
    except OSError as exc:
        exc.mayfly_hint = "too many processes at once, or too much memory to copy: wait for some to end, or use a Pool"
        raise
    finally:
        del _tasks[key]  # the fork has its own


def run(body):
    """The op "fork", in the fork: returns what start's function returned, and what was put into queues."""
    global _sent
    _sent = []
    _threads.alone()
    value = _tasks[int.from_bytes(body, "little")]()
    try:
        return pickle.dumps((value, _sent))
    except Exception as exc:
        return pickle.dumps((Unpicklable(repr(exc)), []))


class Unpicklable(Exception):
    """Takes the place of a result that cannot be pickled."""


class Died(Exception):
    """A fork ended without a result."""


def wait(handle):
    """Waits for a fork, and returns its function's result."""
    while (answer := _mayfly.fork_wait(handle, -1)) is None:
        pass  # woken by an interrupt, which is raised here
    body = 8 + int.from_bytes(answer[4:8], "little")
    if answer[0]:
        import json

        raise Died(json.loads(answer[8:body])["message"])
    value, sent = pickle.loads(memoryview(answer)[body:])
    for key, data in sent:
        if (q := _queues.get(key)) is not None:
            queue.Queue.put(q, pickle.loads(data))
    return value


def call(function, args=(), kwargs={}, initializer=None, initargs=()):
    """Calls a function in a fork."""
    pool = sys.modules["multiprocessing.pool"]

    def task():
        try:
            if initializer is not None:
                initializer(*initargs)
            return True, function(*args, **kwargs)
        except Exception as exc:
            return False, pool.ExceptionWithTraceback(exc, exc.__traceback__)
        except SystemExit as exc:
            return False, RuntimeError(f"the process exited with code {exc.code}")

    result = wait(start(task))
    if isinstance(result, Unpicklable):
        raise pool.MaybeEncodingError(result.args[0], f"<result of {function!r}>")
    ok, value = result
    if not ok:
        raise value
    return value


# ---- multiprocessing.Process


class Popen:
    """What multiprocessing.Process starts."""

    method = "fork"
    sentinel = None

    def __init__(self, process):
        self.returncode = None
        self.pid = next(_pids)
        self._code = -9  # if it ends without a result
        self._done = threading.Event()
        self._handle = start(process._bootstrap)
        _thread.start_new_thread(self._watch, ())

    def _watch(self):
        try:
            self.returncode = wait(self._handle)
        except Died:
            self.returncode = self._code
        except SystemExit:
            _mayfly.fork_end(self._handle)
            self.returncode = self._code
        finally:
            self._done.set()

    def poll(self):
        return self.returncode

    def wait(self, timeout=None):
        self._done.wait(timeout)
        return self.returncode

    def terminate(self, code=-15):
        if self.returncode is None:
            self._code = code
            _mayfly.fork_end(self._handle)

    def kill(self):
        self.terminate(-9)

    def close(self):
        pass

    def duplicate_for_child(self, fd):
        return fd


class Queue(queue.Queue):
    """A queue by which processes give back results."""

    def __init__(self, maxsize=0, *, ctx=None):
        super().__init__(max(maxsize, 0))
        self._key = next(_keys)
        _queues[self._key] = self

    def put(self, obj, block=True, timeout=None):
        if _sent is not None:
            _sent.append((self._key, pickle.dumps(obj)))
        else:
            super().put(obj, block, timeout)

    def get(self, block=True, timeout=None):
        if _sent is not None:
            raise _unsupported("taking from a Queue")
        return super().get(block, timeout)

    def close(self):
        pass

    join_thread = cancel_join_thread = close


def finish(interrupted):
    """Ends the processes of an execution: waits for those that are not daemons."""
    for process in multiprocessing.active_children():
        if interrupted or process.daemon:
            process.kill()
        process.join()


# ---- pools


def _worker(tasks, results, initializer=None, initargs=(), maxtasks=None, wrap_exception=False):
    """A pool's worker is a thread that has a fork run each task."""
    while (task := tasks.get()) is not None:
        job, i, function, args, kwargs = task
        try:
            result = True, call(function, args, kwargs, initializer, initargs)
        except Exception as exc:
            result = False, exc
        results.put((job, i, result))
        task = job = args = kwargs = result = None


class _Notifier(queue.SimpleQueue):
    _reader = None


class _PoolContext:
    """What thread pools need of a context: a queue, which need not reach another process."""

    SimpleQueue = _Notifier


def _wait_for_updates(sentinels, notifier, timeout=None):
    try:
        notifier.get(timeout=timeout)
    except queue.Empty:
        pass
    while not notifier.empty():
        notifier.get()


def patch_pool(module):
    from multiprocessing.dummy import Process as Thread

    init = module.Pool.__init__

    def __init__(self, processes=None, initializer=None, initargs=()):
        init(self, processes, initializer, initargs, context=_PoolContext)
        _pools.add(self)

    module.ThreadPool.__init__ = __init__
    module.Pool._wait_for_updates = module.ThreadPool._wait_for_updates = staticmethod(_wait_for_updates)

    class Pool(module.ThreadPool):
        """A pool whose tasks run in forks of the sandbox."""

        def __init__(self, processes=None, initializer=None, initargs=(), maxtasksperchild=None, context=None):
            super().__init__(processes or os.cpu_count(), initializer, initargs)

        @staticmethod
        def Process(ctx, target, args):
            return Thread(target=_worker if target is module.worker else target, args=args)

    module.Pool = Pool


def close_pools():
    """Marks the pools of an execution that has ended: their threads are daemons and have ended with it."""
    if pool := sys.modules.get("multiprocessing.pool"):
        for p in _pools:
            p._state = pool.TERMINATE


def patch_process_executor(module):
    class ProcessPoolExecutor(concurrent.futures.ThreadPoolExecutor):
        """An executor whose calls run in forks of the sandbox."""

        def __init__(
            self, max_workers=None, mp_context=None, initializer=None, initargs=(), *, max_tasks_per_child=None
        ):
            super().__init__(max_workers or os.cpu_count())
            self._process_initializer = initializer, initargs
            import multiprocessing.pool  # noqa: F401

        def submit(self, fn, /, *args, **kwargs):
            return super().submit(call, fn, args, kwargs, *self._process_initializer)

        def map(self, fn, *iterables, timeout=None, chunksize=1):
            if chunksize < 1:
                raise ValueError("chunksize must be >= 1.")
            chunks = itertools.batched(zip(*iterables), chunksize)
            results = super().map(_process_chunk, itertools.repeat(fn), chunks, timeout=timeout)
            return itertools.chain.from_iterable(results)

    module.ProcessPoolExecutor = ProcessPoolExecutor


def _process_chunk(fn, chunk):
    return [fn(*args) for args in chunk]


# ---- contexts


def patch_context(module):
    for name in ("ForkProcess", "SpawnProcess", "ForkServerProcess"):
        if hasattr(module, name):
            getattr(module, name)._Popen = staticmethod(Popen)
    context = module.BaseContext
    context.Queue = context.JoinableQueue = lambda self, maxsize=0: Queue(maxsize)
    context.SimpleQueue = lambda self: Queue()
    # Each process has its own copy, by which it cannot keep others away; that is harmless around what is not shared.
    context.Lock = lambda self: threading.Lock()
    context.RLock = lambda self: threading.RLock()
    context.Semaphore = lambda self, value=1: threading.Semaphore(value)
    context.BoundedSemaphore = lambda self, value=1: threading.BoundedSemaphore(value)
    for name in ("Manager", "Pipe", "Value", "Array", "RawValue", "RawArray", "Event", "Condition", "Barrier"):
        setattr(context, name, _refuse(f"multiprocessing.{name}"))


def _refuse(name):
    def refuse(self, *args, **kwargs):
        raise _unsupported(name)

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    return refuse
