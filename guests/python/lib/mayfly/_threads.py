"""Threads end with the execution that started them, as they end with a program.

Those that are not daemons are waited for, and so is the work that executors have; an executor gets new workers when it is
used again. Daemon threads are told to end by a SystemExit, which runs their cleanup code, and are dropped if they do not.
"""

import _mayfly
import _thread
import queue
import sys
import threading
import time
import weakref

# Bound early: the program may replace any of these.
_count, _interrupted = _mayfly.thread_count, _mayfly.interrupted
_modules = sys.modules
_join, _enumerate = threading.Thread.join, threading.enumerate
_after_fork = threading._after_fork
_current_frames = sys._current_frames
_DeadlockError = _mayfly.DeadlockError

#: Seconds that daemon threads have for their cleanup code.
_GRACE = 0.1

_LIBRARY = ("<mayfly>/", "<frozen ", "/usr/lib/python3")
_MAX_REPORTED = 20
_BOTTOM = ("_bootstrap", "_bootstrap_inner", "run")

_LOCKS = (_thread.LockType, _thread.RLock)
_searched, _locks = set(), []  # names of modules, and what was found in them

_futures = weakref.WeakValueDictionary()  # of executors, by id
_stopped = {}  # executors by id that were shut down here, and not by the program


def finish(interrupted):
    """Ends all other threads; returns how many had to be told to. After an interrupt nobody is waited for."""
    if not _count() and not _stopped:
        return 0
    if module := _modules.get("mayfly._processes"):
        module.finish(interrupted)
    if interrupted:
        _stop_workers()
    else:
        _wait()
    ended = _count()
    if ended:
        _end()
    for future in _unfinished():
        _abandon(future)
    while _stopped:
        _renew(_stopped.popitem()[1])
    if module := _modules.get("mayfly._processes"):
        module.close_pools()
    return ended


def _is_worker(thread):
    module = _modules.get("concurrent.futures.thread")
    return module is not None and getattr(thread, "_target", None) is module._worker


def _executor_of(thread):
    """Returns the ThreadPoolExecutor that a thread works for, unless that is shut down."""
    executor = thread._args[0]() if _is_worker(thread) else None
    return None if executor is None or executor._shutdown else executor


def _executors():
    return list({id(e): e for t in _enumerate() if (e := _executor_of(t)) is not None}.values())


def _unfinished():
    return [f for r in _futures.valuerefs() if (f := r()) is not None and not f.done()]


def _wait():
    main = threading.main_thread()
    main._handle._set_done()  # as far as others can see, the program has ended
    try:
        while True:
            others = [t for t in _enumerate() if not t.daemon and t is not main and _executor_of(t) is None]
            futures = _unfinished()
            for thread in others:
                _join(thread)
            for future in futures:
                _settle(future)
            if others or futures:
                continue  # they may have started others
            executors = _executors()
            if not executors:
                return
            for executor in executors:
                _stop(executor)
                for thread in list(executor._threads):
                    _join(thread)
    except BaseException as exc:
        if not isinstance(exc, _DeadlockError):
            exc.add_note("while the execution waited for its threads to end:\n" + "\n".join(_threads("is")))
        exc.mayfly_waiting = _waiting(main)
        raise
    finally:
        main._handle = _thread._make_thread_handle(main._ident)


def _waiting(main):
    """Returns where a thread is that the execution waits for, as (frame, line) pairs from the outside in."""
    frames = _current_frames()
    for thread in _enumerate():
        if thread is main or thread.daemon:
            continue
        found, frame = [], frames.get(thread.ident)
        while frame is not None:
            if not frame.f_code.co_filename.startswith(_LIBRARY):
                found.append((frame, frame.f_lineno))
            frame = frame.f_back
        if found:
            return found[::-1]
    return []


def _settle(future):
    """Waits for a future, whatever comes of it."""
    with future._condition:
        while future._state in ("PENDING", "RUNNING"):
            future._condition.wait()


def _stop(executor):
    """Has the workers of an executor end when their queue is empty."""
    _stopped[id(executor)] = executor
    executor._shutdown = True
    executor._work_queue.put(None)


def _stop_workers():
    """Has all workers end when they are done with what they do, which they take a SystemExit for as well."""
    for executor in _executors():
        _stop(executor)
    for work in {t._args[1] for t in _enumerate() if _is_worker(t)}:
        while not work.empty():
            work.get_nowait()
        work.put(None)


def _renew(executor):
    """Makes an executor whose workers are gone usable again."""
    executor._threads.clear()
    executor._work_queue = queue.SimpleQueue()
    executor._idle_semaphore = threading.Semaphore(0)
    executor._shutdown_lock = threading.Lock()
    executor._shutdown = False


def _abandon(future):
    """Ends a future that no thread is there for any more."""
    try:
        future._condition._at_fork_reinit()
        if not future.cancel():
            future.set_exception(RuntimeError("the thread that was to compute this was ended with its execution"))
    except Exception:
        pass  # the program has its own idea of futures


def _end(now=time.monotonic, sleep=time.sleep):
    _mayfly.end_threads()
    deadline = now() + _GRACE
    while _count() and now() < deadline:
        sleep(0.001)
    if _count():
        _mayfly.drop_threads()
        alone()


def alone():
    """Does what modules do after a fork: other threads are gone, and the locks that they may have held are free."""
    _after_fork()
    for lock in library_locks():
        lock._at_fork_reinit()
    if logging := _modules.get("logging"):
        for reference in logging._handlerList:
            if (handler := reference()) is not None and handler.lock is not None:
                handler.lock._at_fork_reinit()


def library_locks():
    """Returns the locks that modules of the standard library have. It takes a while for modules that it did not see before."""
    for name, module in list(_modules.items()):
        if name in _searched:
            continue
        _searched.add(name)
        origin = getattr(getattr(module, "__spec__", None), "origin", None)
        if isinstance(origin, str) and origin.startswith(("frozen", "/usr/lib/python3")):
            _locks.extend(value for value in list(vars(module).values()) if type(value) in _LOCKS)
    return _locks


def deadlock():
    """Returns what a deadlock is made of, for the message of the exception."""
    head = "deadlock: every thread waits, and no thread is left that could end the wait"
    return "\n".join([head, *_threads("waits for a lock")])


def _threads(otherwise):
    """Describes what each thread does, one line each; otherwise is what it does if it has called nothing."""
    names = {thread.ident: thread._name for thread in _enumerate()}
    lines = []
    for ident, frame in sorted(_current_frames().items()):
        lines.append(f"  {names.get(ident) or f'thread {ident}'} {_describe(frame, otherwise)}")
    if len(lines) > _MAX_REPORTED:
        lines[_MAX_REPORTED:] = [f"  and {len(lines) - _MAX_REPORTED} more"]
    return lines


def _describe(frame, otherwise):
    """Tells what the program's innermost line waits for, and where that is."""
    inside = None
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_LIBRARY):
            what = f"waits for {_call(inside)}" if inside is not None else otherwise
            return f"{what} at {name}:{frame.f_lineno}{_source(frame)}"
        if frame.f_code is finish.__code__:
            return "is at its end and waits for the others"
        if not name.startswith("<mayfly>/") and frame.f_code.co_name not in _BOTTOM:
            inside = frame
        frame = frame.f_back
    return f"waits for {_call(inside)}" if inside is not None else "waits in what it was started with"


def _call(frame):
    what = frame.f_code.co_qualname
    owner = frame.f_locals.get("self")
    return f"{what} of {owner.name}" if isinstance(owner, threading.Thread) else what


def _source(frame):
    import linecache

    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return f": {line[:100]}" if line else ""


def patch_executor(module):
    """Keeps track of what executors have to do. When the execution is to end, leaving a pool does not wait for it."""
    init = module._WorkItem.__init__

    def __init__(self, future, *args):
        init(self, future, *args)
        _futures[id(future)] = future

    shut = module.ThreadPoolExecutor.shutdown

    def shutdown(self, wait=True, *, cancel_futures=False):
        hurry = _interrupted()
        shut(self, wait and not hurry, cancel_futures=cancel_futures or hurry)

    shutdown.__doc__ = shut.__doc__
    module._WorkItem.__init__ = __init__
    module.ThreadPoolExecutor.shutdown = shutdown


def _excepthook(args):
    """Tells of an exception that ended a thread, with the program's own lines only."""
    if args.exc_type is SystemExit:
        return
    from mayfly import _errors, _streams

    name = args.thread._name if args.thread is not None else threading.get_ident()
    _streams.complain(f"Exception in thread {name}:\n{_errors.text(args.exc_value)}")


# CPython has these where the system tells its number of a thread; here a thread has no other than its own.
threading.get_native_id = _thread.get_native_id = _thread.get_ident
threading.Thread.native_id = property(lambda self: self.ident)
threading.__all__.append("get_native_id")

_excepthook.__module__, _excepthook.__name__ = "threading", "excepthook"
threading.excepthook = threading.__excepthook__ = _excepthook
_DeadlockError.__module__ = "mayfly"
_mayfly.set_deadlock_reporter(deadlock)
