"""Lists the program's variables, for people and for comparing two states of a session."""

import sys
import types

from mayfly import _json

_MAX_VARIABLES = 10_000
_MAX_REPR = 4000  # characters, of up to four bytes each; the host cuts bytes
_MAX_TOTAL = 4 << 20


def report():
    """The op "variables". It runs in a fork that is thrown away, so it does not matter what a repr does to the program."""
    main = sys.modules.get("__main__")
    namespace = vars(main) if main is not None else {}
    shown, more, total = [], 0, 0
    for name, value in list(namespace.items()):
        if not isinstance(name, str) or name.startswith("__") and name.endswith("__") or isinstance(value, types.ModuleType):
            continue
        if len(shown) == _MAX_VARIABLES or total > _MAX_TOTAL:
            more += 1
            continue
        kind = type(value).__qualname__
        text, truncated = _describe(value)
        total += len(name) + len(text)
        shown.append({"name": name, "type": kind, "repr": text, "truncated": truncated})
    head = _json.encode({"variables": shown, "more": more}).encode("utf-8", "backslashreplace")
    return b"\0\0\0\0" + len(head).to_bytes(4, "little") + head


def _describe(value):
    try:
        text = repr(value)
        if not isinstance(text, str):
            raise TypeError
    except BaseException as exc:
        return f"<no repr: {type(exc).__name__}>", False
    if len(text) > _MAX_REPR:
        return text[:_MAX_REPR], True
    return text, False
