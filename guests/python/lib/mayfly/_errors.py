"""Describes exceptions for people: the program's own lines, with their text, and what to do about it."""

import _mayfly
import builtins
import sys
import traceback

from mayfly import _hints

_LIBRARY = ("<mayfly>/", "<frozen ", "/usr/lib/python3")
_MAX_MESSAGE = 16 << 10
_MAX_TRACEBACK = 64 << 10
_MAX_LINE = 500

_TracebackException = traceback.TracebackException
_isinstance, _str = isinstance, str


def _own(frames):
    """Keeps the frames of the program itself; if there are none, all but the sandbox's."""
    own = [f for f in frames if not f.filename.startswith(_LIBRARY)]
    return own or [f for f in frames if not f.filename.startswith("<mayfly>/")]


def _trim(te):
    seen, todo = set(), [te]
    while todo:
        te = todo.pop()
        if te is not None and id(te) not in seen:
            seen.add(id(te))
            te.stack[:] = _own(te.stack)
            todo += (te.__cause__, te.__context__, *(te.exceptions or ()))


def _cut(text, limit):
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n... {len(text) - limit} characters left out ...\n{text[-limit // 2 :]}"


def _type_name(cls):
    module = getattr(cls, "__module__", None)
    name = getattr(cls, "__qualname__", None) or "?"
    if module in (None, "builtins", "__main__"):
        return str(name)
    return f"{module}.{name}"


def _cut_line(line):
    """Source on one enormous line, with as many markers below it, says no more than its beginning."""
    return line if len(line) <= _MAX_LINE else line[:_MAX_LINE] + " ...\n"


def text(exc):
    """Returns the traceback of an exception, trimmed."""
    te = _TracebackException(type(exc), exc, exc.__traceback__, compact=True)
    waiting = getattr(exc, "mayfly_waiting", None)
    if waiting:
        te.stack[:] = traceback.StackSummary.extract(iter(waiting))
    _trim(te)
    lines = "".join(te.format()).splitlines(True)
    return _cut("".join(map(_cut_line, lines)), _MAX_TRACEBACK)


def _line(exc):
    """Returns where in the program the exception passed last."""
    if _isinstance(exc, SyntaxError):
        return exc.lineno
    for frame, number in reversed(getattr(exc, "mayfly_waiting", ())):
        if not frame.f_code.co_filename.startswith(_LIBRARY):
            return number
    line, tb = None, exc.__traceback__
    while tb is not None:
        if not tb.tb_frame.f_code.co_filename.startswith(_LIBRARY):
            line = tb.tb_lineno
        tb = tb.tb_next
    return line


def _kind(exc):
    if _isinstance(exc, _mayfly.DeadlockError):
        return "deadlock"
    if _isinstance(exc, MemoryError):
        return "memory"
    if _isinstance(exc, SyntaxError):
        return "syntax"
    if _isinstance(exc, ImportError):
        return "import"
    return "exception"


def describe(exc):
    """Returns the fields of the result's error. Whatever the exception's own methods do, this does not fail."""
    try:
        message = _str(exc)
    except BaseException:
        message = "<no message: str() of the exception failed>"
    try:
        trace = text(exc)
    except BaseException:
        trace = f"{_type_name(type(exc))}: {message}\n"
    fields = {
        "kind": _kind(exc),
        "type": _type_name(type(exc)),
        "message": _cut(message, _MAX_MESSAGE),
        "traceback": trace,
    }
    line = _line(exc)
    if line:
        fields["line"] = line
    hint = _hints.hint(exc)
    if hint:
        fields["hint"] = hint
    return fields
