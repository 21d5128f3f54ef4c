"""Encodes the value of a program: as JSON where it can be, and as its repr."""

import reprlib

from mayfly import _json

_encode = _json.encode
_repr = repr
_len = len

#: An assigned container with more items than this is not encoded whole after every step: the variable holds it.
_MAX_ASSIGNED = 1000
#: Neither encoding may be larger: an answer has to fit into a frame.
_MAX_BYTES = 24 << 20

_preview = reprlib.Repr(maxlist=20, maxdict=20, maxset=20, maxtuple=20, maxstring=200, maxother=200)


def report(value, name):
    """Returns the answer's fields and body for a value, or None for no value. name is the variable that holds it."""
    if value is None and name is None:
        return None
    if name is not None:
        try:
            large = isinstance(value, (list, dict, set, tuple, str, bytes, bytearray, frozenset)) and _len(value) > _MAX_ASSIGNED
        except BaseException:
            large = True
        if large:
            return _reference(value, name)
    text = _repr(value)
    if not isinstance(text, str):
        text = str(text)
    encoded_repr = text.encode("utf-8", "backslashreplace")
    try:
        encoded = _encode(value).encode("utf-8")
    except (TypeError, ValueError, RecursionError, OverflowError):
        encoded = b""
    if len(encoded) > _MAX_BYTES or len(encoded_repr) > _MAX_BYTES:
        return _reference(value, name)
    fields = {"json": len(encoded), "repr": len(encoded_repr)}
    if name is not None:
        fields["variable"] = name
    return fields, encoded + encoded_repr


def _reference(value, name):
    preview = _preview.repr(value).encode("utf-8", "backslashreplace")
    fields = {"json": 0, "repr": len(preview), "preview": True}
    if name is not None:
        fields["variable"] = name
    return fields, preview


def unknown(exc, name):
    """Returns the answer's fields and body for a value whose encoding raised exc."""
    text = f"<no repr: {type(exc).__name__}>".encode("utf-8", "backslashreplace")
    fields = {"json": 0, "repr": len(text)}
    if name is not None:
        fields["variable"] = name
    return fields, text
