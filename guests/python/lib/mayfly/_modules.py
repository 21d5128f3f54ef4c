"""Lists what of the standard library is in the guest, by looking."""

import _imp
import sys

from mayfly import _json


def report():
    """The op "modules": {"version", "in": [...], "out": [...]}."""
    there = set(sys.builtin_module_names) | set(_imp._frozen_module_names())
    top = {name.partition(".")[0] for name in there}
    names = sorted(sys.stdlib_module_names)
    body = {
        "version": sys.version,
        "in": [n for n in names if n in top],
        "out": [n for n in names if n not in top],
    }
    head = _json.encode(body).encode()
    return b"\0\0\0\0" + len(head).to_bytes(4, "little") + head
