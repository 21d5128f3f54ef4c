"""The sources of programs, which are in no file, for tracebacks and inspect."""

import collections
import linecache

_MAX_SOURCES = 500


class _Sources(dict):
    """Takes the place of linecache.cache: the source of the present program is split into lines when somebody asks for it."""

    __slots__ = ("filename", "source", "filled")  # of the program; its filename is None when it is to be kept

    def __init__(self, other):
        super().__init__(other)
        self.filename, self.source, self.filled = None, b"", False

    def set(self, filename, source):
        if self.filled:
            self.pop(self.filename, None)
            self.filled = False
        self.filename, self.source = filename, source

    def fill(self):
        text = self.source.decode("utf-8", "replace")
        self[self.filename] = (len(text), None, text.splitlines(True), self.filename)
        self.filled = True

    def keep(self):
        if not self.filled:
            self.fill()
        self.filename, self.filled = None, False

    def __contains__(self, key):
        if not self.filled and self.filename is not None and key == self.filename:
            self.fill()
        return super().__contains__(key)

    def __missing__(self, key):
        if not self.filled and self.filename is not None and key == self.filename:
            self.fill()
            return self[key]
        raise KeyError(key)


_kept = collections.deque()  # filenames


def install():
    """Begins anew, with objects that are made now."""
    global _kept
    linecache.cache = _Sources(linecache.cache)
    _kept = collections.deque()


def remember(filename, source):
    """Notes the program that is about to run, in place of the one before."""
    cache = linecache.cache
    if type(cache) is not _Sources:  # a program's doing, or the first time
        linecache.cache = cache = _Sources(cache)
    cache.set(filename, source)


def keep(filename):
    """Keeps the present source beyond its program, which has defined functions. The oldest are forgotten."""
    linecache.cache.keep()
    _kept.append(filename)
    if len(_kept) > _MAX_SOURCES:
        linecache.cache.pop(_kept.popleft(), None)


def clear():
    """Forgets all programs."""
    remember(None, b"")
    while _kept:
        linecache.cache.pop(_kept.pop(), None)
