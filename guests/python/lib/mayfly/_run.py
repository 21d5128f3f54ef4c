"""Runs a piece of code as the module __main__ and reports what came of it."""

import _mayfly
import _random
import builtins
import gc
import os
import random
import sys
import time
import types

from mayfly import _errors, _host, _json, _loop, _rehearsal, _results, _sources, _streams, _threads

# Bound early: the program may replace any of these.
_compile = _mayfly.compile
_exec = exec
_eval = eval
_dumps = _json.encode
_settrace, _setprofile = sys.settrace, sys.setprofile
_gettrace, _getprofile = sys.gettrace, sys.getprofile
_setrecursionlimit, _getrecursionlimit = sys.setrecursionlimit, sys.getrecursionlimit
_modules = sys.modules
_forget = _random.Random._forget  # seeds before the next use: a fork that needs no random numbers changes no state
_interrupted = _mayfly.interrupted
_DeadlockError = _mayfly.DeadlockError
_finish_threads = _threads.finish
_begin_calls = _host.begin

_ALLOW_TOP_LEVEL_AWAIT = 0x2000
_CO_COROUTINE = 0x80
_DEFAULT_RECURSION_LIMIT = 1000
_WORKSPACE = "/workspace"
_DEFAULT_ENV = {"HOME": _WORKSPACE}

_OK = b'{"status":"ok"}'

_argv = None
_CodeType = types.CodeType


def _frame(head, body=b""):
    return b"\0\0\0\0" + len(head).to_bytes(4, "little") + head + body


def _main():
    """Returns the namespace of __main__, which lives as long as the session."""
    main = _modules.get("__main__")
    if main is None or getattr(main, "__mayfly__", None) is not _modules:
        main = types.ModuleType("__main__")
        main.__mayfly__ = _modules
        main.__builtins__ = builtins
        main.__annotations__ = {}
        _modules["__main__"] = main
    return main.__dict__


def _reseed():
    """Forks share their template's random state; uuid, secrets and os.urandom ask the host and need nothing."""
    _forget(random._inst)
    if random._inst.gauss_next is not None:
        random._inst.gauss_next = None
    if logging := _modules.get("logging"):
        logging._startTime = time.time_ns()


def _prepare(head):
    _begin_calls()
    if head.get("reseed"):
        _reseed()
    env = head.get("env")
    if env is not None:
        os.environ.clear()
        os.environ.update(_DEFAULT_ENV | env)
    argv = head.get("argv")
    if argv is not None:
        if sys.argv is _argv:
            _argv[:] = argv
        else:
            sys.argv = argv
    _streams.renew(head.get("stdin", False))


def _defines(code):
    return _CodeType in map(type, code.co_consts)


def _run(code, last, namespace):
    """Runs a program, and returns the value of its last expression, if it has one."""
    if (code.co_flags | (last.co_flags if last is not None else 0)) & _CO_COROUTINE:
        return _loop.run(_run_async(code, last, namespace))
    _eval(code, namespace)
    return _eval(last, namespace) if last is not None else None


async def _run_async(code, last, namespace):
    # All of it runs in the loop, so that a task which is made before the first await can be awaited after it.
    _loop.enter()
    value = None
    for part in (code, last):
        if part is not None:
            value = _eval(part, namespace)
            if part.co_flags & _CO_COROUTINE:
                value = await value
    return value


def execute(head, source):
    """The op "exec": the body is source code, see engine/internal/guest for the head."""
    try:
        return _execute(head, source)
    except BaseException as exc:
        # An interrupt that came outside of the program, or a program that broke what this relies on.
        return _frame(_after(_failure, head, exc))


def _execute(head, source):
    _prepare(head)
    filename = head["filename"]
    namespace = _main()
    if head.get("file"):
        namespace["__file__"] = head["file"]
    value, has_value, name = None, False, None
    try:
        try:
            code, last, name = _compile(source, filename, _ALLOW_TOP_LEVEL_AWAIT)
        finally:
            _sources.remember(filename, source)
        if _defines(code) or (last is not None and _defines(last)):
            _sources.keep(filename)
        value = _run(code, last, namespace)
        if last is not None:
            has_value = True
        elif name is not None and name in namespace:
            value, has_value = namespace[name], True
        ended = _end(head)
        report = _report(value, name) if has_value and head.get("result") else None
    except SystemExit as exc:
        return _frame(_after(_exit, head, exc))
    except BaseException as exc:
        return _frame(_after(_failure, head, exc))
    finally:
        if _gettrace() is not None or _getprofile() is not None:
            _settrace(None)
            _setprofile(None)
    _streams.flush()
    if report is None and not ended:
        return _frame(_OK)
    fields, body = report or ({}, b"")
    if ended:
        fields["threads_ended"] = ended
    return _frame(_dumps({"status": "ok", **fields}).encode("utf-8", "surrogatepass"), body)


def _report(value, name):
    """A program whose value cannot be shown is no failed program."""
    try:
        return _results.report(value, name)
    except (TimeoutError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as exc:
        return _results.unknown(exc, name)


def _after(describe, head, exc):
    """Ends a program that raised. The state it left may be odd, so the limits that this needs are set anew."""
    _settrace(None)
    _setprofile(None)
    if _getrecursionlimit() < _DEFAULT_RECURSION_LIMIT:
        _setrecursionlimit(_DEFAULT_RECURSION_LIMIT)
    gc.enable()
    answer = describe(exc)
    try:
        if ended := _end(head):
            answer["threads_ended"] = ended
    except BaseException as other:
        other.__context__ = None
        if not (isinstance(other, _DeadlockError) and isinstance(exc, _DeadlockError)):
            _streams.complain(_errors.text(other))
        try:
            _finish_threads(True)
        except BaseException as other:
            _streams.complain(_errors.text(other))  # the program has spoilt threading; the host drops what is left
    _streams.flush()
    return _dumps(answer).encode("utf-8", "replace")


def _exit(exc):
    code = exc.code
    if code is None:
        return {"status": "exit", "code": 0}
    if isinstance(code, int):
        # Like C's exit(): the low byte, and -1 for what does not fit into a long.
        code = int(code)
        return {"status": "exit", "code": code & 0xFF if -(2**63) <= code < 2**63 else 0xFF}
    try:
        _streams.complain(f"{code}\n")
    except Exception:
        _streams.complain("SystemExit with a code that cannot be printed\n")
    return {"status": "exit", "code": 1}


def _failure(exc):
    hook = sys.excepthook
    if hook is not sys.__excepthook__:
        try:
            hook(type(exc), exc, exc.__traceback__)
        except BaseException as other:
            exc = other
    answer = {"status": "error", "error": _errors.describe(exc)}
    # The frames hold on to the program's locals.
    exc.__traceback__ = None
    return answer


def _end(head):
    """Ends the threads, and after the only execution does what an interpreter does at its end: exit handlers, then the
    event loop's leftovers. Returns the number of threads that did not end by themselves."""
    ended = _finish_threads(_interrupted())
    if head.get("finish"):
        import atexit

        atexit._run_exitfuncs()
        _loop.close()
        ended += _finish_threads(_interrupted())
    return ended


def incomplete(source):
    """The op "incomplete": is this the beginning of a statement?"""
    import codeop
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiler = codeop.Compile()
        compiler.flags |= _ALLOW_TOP_LEVEL_AWAIT
        try:
            more = codeop._maybe_compile(compiler, source.decode("utf-8", "replace"), "<input>", "single") is None
        except (SyntaxError, ValueError, OverflowError):
            more = False
    return _frame(_dumps({"incomplete": more}).encode())


def _rehearse(handle, source, **more):
    head = _dumps({"filename": "<warm-up>", "argv": ["x"], "result": True, **more}).encode()
    return handle(b"\1\0\0\0" + len(head).to_bytes(4, "little") + head + source)


def warm_up(handle):
    """Takes the paths of a first execution, so that their caches are in the template."""
    sources = (b"1 + 1", b"x = 1\nx", b"1 /", b"1 / 0", b"import os\nprint(end='')\nraise ValueError('x')")
    # Until the adaptive interpreter has specialised the code: it counts in the code itself, and so makes pages private.
    for i, source in enumerate(sources * 30):
        _rehearse(handle, source, **({"reseed": True, "env": {}, "stdin": True} if i % 10 == 0 else {}))
    _rehearsal.run(lambda source: _rehearse(handle, source), 30)
    _sources.clear()
    _modules.pop("__main__", None)
    _main()
    # The state that forks begin with; setting it here saves each of them the pages that it would change.
    os.environ.clear()
    os.environ.update(_DEFAULT_ENV)
    os.chdir(_WORKSPACE)
    global _argv
    sys.argv = _argv = [""]
    gc.collect()


def settle(handle):
    """Called last in the template, when new objects begin to lie together: moves what a step changes to them."""
    _sources.install()
    _streams.install()
    warm_up(handle)
