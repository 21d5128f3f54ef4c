"""Serves the host's requests. One function per op; the frames are described in guests/README.md."""

import _mayfly
import _sitebuiltins
import builtins
import sys

# Imported for the snapshot: what programs use most starts without a file or a decoder being touched.
import abc, argparse, array, ast, asyncio, base64, bisect, collections, collections.abc, contextlib, contextvars  # noqa: F401
import copy, csv, dataclasses, datetime, decimal, difflib, enum, fractions, functools, glob, hashlib, heapq, hmac  # noqa: F401
import html, inspect, io, itertools, json, keyword, linecache, locale, logging, math, numbers, operator, os, pathlib  # noqa: F401
import pickle, pprint, queue, random, re, secrets, shutil, signal, socket, statistics, string, struct, tempfile  # noqa: F401
import textwrap, threading, time, tokenize, traceback, types, typing, unicodedata, urllib.parse, uuid, weakref, zlib  # noqa: F401

from mayfly import _json, _loop, _modules, _run, _streams, _threads, _toolmodules, _unsupported

OP_EXEC, OP_MODULES, OP_INCOMPLETE, OP_FORK, OP_VARIABLES = 1, 2, 3, 4, 5

_decode, _encode = _json.decode, _json.encode
_from_bytes = int.from_bytes

# What site.py would add; a copyright and a license of somebody else's build are left out.
builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D (i.e. EOF)")
builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D (i.e. EOF)")
builtins.help = _sitebuiltins._Helper()

_loop.install()
_unsupported.install()
_toolmodules.install()
_streams.install()
sys.path[:] = ["", "/packages"]


def _error(exc):
    head = _encode({"type": type(exc).__name__, "message": str(exc)}).encode()
    return b"\1\0\0\0" + len(head).to_bytes(4, "little") + head


def _fork(body):
    from mayfly import _processes

    try:
        body = _processes.run(body)
    except BaseException as exc:
        return _error(exc)
    finally:
        _streams.flush()
    return b"\0\0\0\0\2\0\0\0{}" + body


def handle(request):
    op = _from_bytes(request[:4], "little")
    end = 8 + _from_bytes(request[4:8], "little")
    head = _decode(request[8:end])
    if op == OP_EXEC:
        return _run.execute(head, request[end:])
    if op == OP_MODULES:
        return _modules.report()
    if op == OP_INCOMPLETE:
        return _run.incomplete(request[end:])
    if op == OP_FORK:
        return _fork(request[end:])
    if op == OP_VARIABLES:
        from mayfly import _variables

        return _variables.report()
    return _error(ValueError(f"unknown op {op}"))


# A regular expression cache and the like fill up in the template, not in each sandbox.
_threads.library_locks()
_run.warm_up(handle)
_mayfly.set_settle(lambda: _run.settle(handle))
