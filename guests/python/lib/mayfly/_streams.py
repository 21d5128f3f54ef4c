"""The standard streams: line-buffered, so that output arrives while the program runs, and repaired between programs."""

import io
import sys

_FileIO, _BufferedReader, _BufferedWriter, _TextIOWrapper = io.FileIO, io.BufferedReader, io.BufferedWriter, io.TextIOWrapper

_stdin_used = False
_suspect = False  # a stream could not be flushed


def _writer(fd, name):
    raw = _FileIO(fd, "w", closefd=False)
    raw.name = name
    stream = _TextIOWrapper(_BufferedWriter(raw, 1 << 16), "utf-8", "surrogateescape", "\n", line_buffering=True)
    stream.mode = "w"
    return stream


def _reader():
    raw = _FileIO(0, "r", closefd=False)
    raw.name = "<stdin>"
    stream = _TextIOWrapper(_BufferedReader(raw), "utf-8", "surrogateescape")
    stream.mode = "r"
    return stream


def install():
    sys.stdin = sys.__stdin__ = _reader()
    sys.stdout = sys.__stdout__ = _writer(1, "<stdout>")
    sys.stderr = sys.__stderr__ = _writer(2, "<stderr>")


def _closed(stream):
    try:
        return stream is None or stream.closed
    except BaseException:
        return True


def renew(stdin):
    """Before a program: streams that the one before closed are opened again, and its unread input is dropped."""
    global _stdin_used, _suspect
    if stdin or _stdin_used or _closed(sys.stdin):
        _stdin_used = stdin
        sys.stdin = sys.__stdin__ = _reader()
    if not _suspect:
        return
    _suspect = False
    if _closed(sys.stdout):
        sys.stdout = sys.__stdout__ = _writer(1, "<stdout>")
    if _closed(sys.stderr):
        sys.stderr = sys.__stderr__ = _writer(2, "<stderr>")


def flush():
    """After a program. A stream that it closed or replaced by something odd is noticed here."""
    global _suspect
    out, err = sys.stdout, sys.stderr
    try:
        out.flush()
        err.flush()
        if out is sys.__stdout__ and err is sys.__stderr__:
            return
    except BaseException:
        pass
    _suspect = True
    for stream in (out, err, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except BaseException:
            pass


def complain(text):
    try:
        sys.stderr.write(text)
    except BaseException:
        pass
