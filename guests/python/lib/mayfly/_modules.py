"""Lists what of the standard library is in the guest, by importing it."""

import _imp
import contextlib
import io
import sys

from mayfly import _json


def _works(name):
    try:
        with contextlib.redirect_stdout(io.StringIO()):  # "this" prints a poem
            __import__(name)
    except Exception:
        return False
    return True


def report():
    """The op "modules": {"version", "in": [...], "out": [...]}. The fork that answers is of no use afterwards."""
    there = {n.partition(".")[0] for n in (*sys.builtin_module_names, *_imp._frozen_module_names())}
    names = sorted(sys.stdlib_module_names)
    found = {n for n in names if n in there and _works(n)}
    body = {
        "version": sys.version,
        "in": [n for n in names if n in found],
        "out": [n for n in names if n not in found],
    }
    head = _json.encode(body).encode()
    return b"\0\0\0\0" + len(head).to_bytes(4, "little") + head
