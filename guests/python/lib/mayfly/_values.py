"""What the host returns that JSON and text cannot say: images, audio, resources, and results that stay on the host."""

import os

_MAX_PREVIEW = 200


# ---- blocks


class _Data:
    """Bytes with a type. len() and bytes() are those of the data."""

    __slots__ = ("data", "mime_type", "uri", "name", "title")

    def __init__(self, data=b"", mime_type=None, uri=None, name=None, title=None):
        self.data, self.mime_type, self.uri, self.name, self.title = data, mime_type, uri, name, title

    def save(self, path):
        """Writes the data to a file, and returns its path."""
        with open(path, "wb") as f:
            f.write(bytes(self))
        return os.fspath(path)

    def __len__(self):
        return len(self.data)

    def __bool__(self):
        return True

    def __bytes__(self):
        return self.data

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, n) == getattr(other, n) for n in _Data.__slots__)

    def __hash__(self):
        return hash((self.data, self.uri))

    def __repr__(self):
        parts = [f"{len(self):,} bytes"]
        for name in ("mime_type", "name", "title", "uri"):
            if value := getattr(self, name):
                parts.append(f"{name}={_short(value)}")
        return f"<{type(self).__name__} {', '.join(parts)}>"


class Image(_Data):
    """An image: data is its bytes, mime_type says which format."""

    __slots__ = ()
    __module__ = "mayfly"


class Audio(_Data):
    """Sound: data is its bytes, mime_type says which format."""

    __slots__ = ()
    __module__ = "mayfly"


class Resource(_Data):
    """Something that a tool server has under a URI: text, unless it is None, or else data."""

    __slots__ = ("text",)
    __module__ = "mayfly"

    def __init__(self, data=b"", mime_type=None, uri=None, name=None, title=None, text=None):
        super().__init__(data, mime_type, uri, name, title)
        self.text = text

    def __bytes__(self):
        return self.data if self.text is None else self.text.encode()

    def __len__(self):
        return len(bytes(self))

    def __str__(self):
        return repr(self) if self.text is None else self.text

    def __eq__(self, other):
        equal = super().__eq__(other)
        return equal if equal is not True else self.text == other.text

    __hash__ = _Data.__hash__


class Link(_Data):
    """The URI of something, without its data."""

    __slots__ = ()
    __module__ = "mayfly"

    def __repr__(self):
        parts = [f"{n}={_short(v)}" for n in ("uri", "name", "title", "mime_type") if (v := getattr(self, n))]
        return f"<Link {', '.join(parts)}>"

    def __str__(self):
        return self.uri or ""


_CLASSES = {"image": Image, "audio": Audio, "resource": Resource, "link": Link}


def _short(text):
    return repr(text if len(text) <= 100 else text[:97] + "...")


def blocks(heads, answer, at):
    """Returns the blocks whose data stand in an answer from an offset on: a list, or the only one itself."""
    found = []
    for head in heads:
        end = at + head["len"]
        data = answer[at:end]
        at = end
        kind = head["type"]
        text = data.decode("utf-8", "replace") if head.get("text") else None
        cls = _CLASSES.get(kind)
        if cls is None:
            found.append(text if text is not None else data)
            continue
        block = cls(data if text is None else b"", head.get("mime"), head.get("uri"), head.get("name"), head.get("title"))
        if cls is Resource:
            block.text = text
        found.append(block)
    return found[0] if len(found) == 1 else found


# ---- results that stay on the host

_UNITS = {"text": "characters", "bytes": "bytes", "list": "items", "dict": "keys"}


class LargeResult:
    """A large result, which stays on the host. kind says what it is: "text", "bytes", "list" or "dict".

    r[10:20] gets a part, r[5] and r["key"] an item; len(r), for ... in r, x in r, r.keys(), r.get(key) and r.items() work as
    usual, and r.lines() goes over the lines of a text. r.load() gets all of it.
    """

    __slots__ = ("kind", "size", "_len", "_handle", "_preview")
    __module__ = "mayfly"

    def __init__(self, head):
        self.kind, self.size = head.get("of", "text"), head.get("size", 0)
        self._len, self._handle, self._preview = head.get("len", 0), head["handle"], head.get("preview", "")

    def _read(self, **args):
        from mayfly import _host

        return _host.request("handle.read", {"handle": self._handle, **args}, b"", _host.HostError)

    def _pages(self, start, stop, **args):
        """Reads a part in pieces of a size that the host likes."""
        while start < stop:
            _, value, head = self._read(start=start, stop=stop, page=True, **args)
            at = head["stop"]
            if at <= start:
                raise RuntimeError(f"the host gave nothing of {self!r} from {start} on")
            if self.kind == "list" and not isinstance(value, list):
                value = [value]  # a single block
            yield value
            start = at

    def _whole(self, start, stop, **args):
        pages = list(self._pages(start, stop, **args))
        if len(pages) == 1:
            return pages[0]
        if self.kind in ("text", "bytes"):
            return ("" if self.kind == "text" else b"").join(pages)
        if self.kind == "list" or args:
            return [item for page in pages for item in page]
        return {key: value for page in pages for key, value in page.items()}

    def load(self):
        """Returns the whole value."""
        return self._whole(0, self._len)

    def __len__(self):
        return self._len

    def __getitem__(self, index):
        if self.kind == "dict":
            kind, value = self._find(index)
            if kind == "none":
                raise KeyError(index)
            return value
        if isinstance(index, slice):
            start, stop, step = index.indices(self._len)
            if step == 1:
                return self._whole(start, stop)
            # The part that has them all, and every so many of that.
            chosen = range(start, stop, step)
            if not chosen:
                return self._whole(0, 0)
            low, high = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
            part = self._whole(low, high + 1)
            return part[::step] if step > 0 else part[::-1][::-step]
        i = index.__index__()
        i += self._len if i < 0 else 0
        if not 0 <= i < self._len:
            raise IndexError(f"index {index} of {self._len} {_UNITS[self.kind]}")
        if self.kind == "list":
            return self._read(index=i)[1]
        return self._whole(i, i + 1) if self.kind == "text" else self._whole(i, i + 1)[0]

    def _find(self, key):
        return self._read(key=key)[:2] if isinstance(key, str) else ("none", None)

    def get(self, key, default=None):
        """Returns the value of a key of a dict, or default."""
        self._need("dict")
        kind, value = self._find(key)
        return default if kind == "none" else value

    def keys(self):
        """Returns the keys of a dict as a list."""
        self._need("dict")
        return self._whole(0, self._len, keys=True)

    def items(self):
        """Goes over the pairs of a dict."""
        self._need("dict")
        return (item for page in self._pages(0, self._len) for item in page.items())

    def values(self):
        """Goes over the values of a dict."""
        return (value for _, value in self.items())

    def lines(self):
        """Goes over the lines of a text, without their ends."""
        self._need("text")
        return self._lines()

    def _lines(self):
        rest = []
        for page in self._pages(0, self._len):
            *lines, last = page.split("\n")
            for line in lines:
                rest.append(line)
                yield "".join(rest).removesuffix("\r")
                rest.clear()
            rest.append(last)
        if last := "".join(rest):
            yield last

    def _need(self, kind):
        if self.kind != kind:
            raise TypeError(f"this result is a {self.kind}, not a {kind}")

    def __iter__(self):
        if self.kind == "dict":
            return iter(self.keys())
        return (item for page in self._pages(0, self._len) for item in page)

    def __contains__(self, item):
        if self.kind == "dict":
            return self._find(item)[0] != "none"
        if self.kind == "list":
            return any(item is i or item == i for i in self)
        if self.kind == "bytes" and isinstance(item, int):
            return any(item in page for page in self._pages(0, self._len))
        overlap = len(item) - 1
        tail = item[:0]
        for page in self._pages(0, self._len):
            page = tail + page
            if item in page:
                return True
            tail = page[len(page) - overlap :] if overlap > 0 else item[:0]
        return not len(item)

    def __bool__(self):
        return self._len > 0

    def __str__(self):
        if self.kind == "bytes":
            return repr(self)
        more = self._preview[:_MAX_PREVIEW]
        return f"{more}... ({self._len:,} {_UNITS[self.kind]} in all; slice it, or .load() it)"

    def __repr__(self):
        preview = f", {self._preview[:80]!r}..." if self._preview else ""
        return f"<LargeResult {self.kind}, {self._len:,} {_UNITS[self.kind]}, {self.size:,} bytes{preview}>"

    def close(self):
        """Has the host forget the result. It does so by itself when it has too many."""
        from mayfly import _host

        _host.call("handle.close", {"handle": self._handle})

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
