"""What arguments of host calls may be: JSON, and what can be turned into it in one way only."""

import array
import collections
import collections.abc
import dataclasses
import datetime
import decimal
import enum
import os
import uuid

from mayfly import _values

_MAX_DEPTH = 100  # as the host has it


def _type_name(value):
    return type(value).__qualname__


def refuse(value):
    """Is what the encoder calls for all that is not JSON."""
    raise TypeError


class Unsendable(TypeError):
    """An argument that is not JSON; path leads to it. To programs it is a TypeError."""

    __module__, __qualname__ = "builtins", "TypeError"

    def __init__(self, problem, path=()):
        super().__init__(problem)
        self.problem, self.path = problem, path

    def __str__(self):
        where = ""
        for step in self.path:
            if isinstance(step, str) and not where:
                where = step
            else:
                where += f"[{step!r}]"
            if len(where) > 200:
                where = where[:200] + "..."
                break
        return f"argument {where}: {self.problem}" if where else f"arguments: {self.problem}"


def plain(value):
    """Returns value as what JSON has. Raises Unsendable, which says what is wrong and where."""
    try:
        return _plain(value, [])
    except RecursionError:
        raise Unsendable(f"is nested too deeply, or contains itself (at most {_MAX_DEPTH} levels can be sent)") from None


def _plain(value, path):
    if value is None or value is True or value is False:
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, path)
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        return _integer(value, path)
    if isinstance(value, float):
        if value - value != 0:  # NaN, or infinite
            raise Unsendable(f"{value!r} is not a number that JSON has; leave it out, or send None", path)
        return value
    if len(path) >= _MAX_DEPTH:
        raise RecursionError
    if isinstance(value, dict):
        return {_key(k, path): _plain(v, [*path, k]) for k, v in value.items()}
    if isinstance(value, (list, tuple, collections.deque)):
        return [_plain(v, [*path, i]) for i, v in enumerate(value)]
    return _convert(value, path)


def _convert(value, path):
    if isinstance(value, (set, frozenset)):
        raise Unsendable(f"a {_type_name(value)} has no order; send a list: sorted(...) or list(...)", path)
    if isinstance(value, (bytes, bytearray, memoryview, array.array)):
        raise Unsendable(
            f"{_type_name(value)} is not JSON; send text: .decode(), or base64.b64encode(...).decode()", path
        )
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, decimal.Decimal):
        raise Unsendable("a Decimal can be sent as float(...) or as str(...)", path)
    if isinstance(value, os.PathLike):
        text = os.fspath(value)
        if isinstance(text, str):
            return _text(text, path)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name), [*path, f.name]) for f in dataclasses.fields(value)}
    if isinstance(value, collections.abc.Mapping):
        return {_key(k, path): _plain(value[k], [*path, k]) for k in value}
    if isinstance(value, range):
        return list(value)
    if isinstance(value, _values.LargeResult) and value.kind != "bytes":
        return _plain(value.load(), path)
    raise Unsendable(f"{_type_name(value)} is not JSON; send str, int, float, bool, None, a list or a dict", path)


def _key(key, path):
    if isinstance(key, enum.Enum):
        key = key.value
    if isinstance(key, str):
        return _text(key, path)
    if key is None or key is True or key is False or isinstance(key, (int, float)):
        return key  # as the json module writes them
    raise Unsendable(f"the key {key!r:.80} is a {_type_name(key)}; keys are strings", path)


def _text(value, path):
    try:
        value.encode()
    except UnicodeEncodeError as exc:
        raise Unsendable(
            f"the text has a lone surrogate, \\u{ord(value[exc.start]):04x} at index {exc.start}, which cannot be sent; "
            "see text.encode('utf-8', 'replace').decode()",
            path,
        ) from None
    return value


def _integer(value, path):
    try:
        repr(value)
    except ValueError:
        raise Unsendable(f"an int of {value.bit_length()} bits is too large to be sent as a number", path) from None
    return value
