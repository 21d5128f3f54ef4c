"""The tools of the host as functions: a function for each tool, made from what the host says of it. Nothing that a tool server
says is ever run as code."""

import importlib
import inspect
import typing

from mayfly import _arguments, _host

# Bound early: the program may replace any of these.
_call, _exchange, _parse = _host.call, _host.exchange, _host.parse
_encode, _join, _len, _to_bytes = _host._encode, "".join, len, int.to_bytes
_START, _MAX_HEAD = _host._START, _host._MAX_HEAD
_Parameter, _Signature = inspect.Parameter, inspect.Signature
_Unsendable = _arguments.Unsendable
_NOT_JSON = (TypeError, ValueError, RecursionError, OverflowError)


class ToolError(_host.HostError):
    """A call of a tool failed. server and tool name it, code says why in one word, message and hint are for people; data is
    what the server said more about it, perhaps None.

    "invalid_arguments" is the code of arguments that the tool does not take, which is a TypeError as well; "tool_failed" that
    of a tool which ran and reported a failure. Other codes are "unknown_tool", "denied", "budget", "timeout", "cancelled",
    "server_error", "invalid_result", "too_large" and "unavailable".
    """

    __module__ = "mayfly"

    @classmethod
    def of(cls, head):
        if cls is ToolError and head.get("code") == "invalid_arguments":
            cls = _InvalidArguments
        return super(ToolError, cls).of(head)

    def __str__(self):
        name = ".".join(filter(None, (self.server, self.tool)))
        return self.message if not name or name in self.message else f"{name}: {self.message}"

    def __reduce__(self):
        return _rebuild, (dict(self.__dict__), self.args)


_InvalidArguments = type("ToolError", (ToolError, TypeError), {"__module__": "mayfly", "__doc__": ToolError.__doc__})


def _rebuild(fields, args):
    cls = _InvalidArguments if fields.get("code") == "invalid_arguments" else ToolError
    exc = cls.__new__(cls, *args)
    exc.__dict__.update(fields)
    return exc


class _Annotation:
    """A type as it is written, which is shown without quotes."""

    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text

    def __eq__(self, other):
        return type(other) is _Annotation and other.text == self.text

    def __hash__(self):
        return hash(self.text)


_TYPES = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict, "None": None, "Any": typing.Any}


def _annotation(text):
    return _TYPES[text] if text in _TYPES else _Annotation(text)


class _Spec:
    """What the host says of a tool."""

    __slots__ = ("server", "tool", "name", "params", "extra", "returns", "doc", "by_name", "renamed")

    def __init__(self, raw):
        self.server, self.tool, self.name = raw["server"], raw["tool"], raw["name"]
        self.params, self.extra = raw.get("params") or [], raw.get("extra", False)
        self.returns, self.doc = raw.get("returns") or "Any", raw.get("doc") or ""
        self.by_name = {p["name"]: p for p in self.params}
        self.renamed = {p["name"] for p in self.params if p["name"] != p["key"]}

    def signature(self):
        kind, params = _Parameter.POSITIONAL_OR_KEYWORD, []
        for p in self.params:
            required, of = p.get("required"), p["type"]
            if not required and "default" not in p and not p.get("nullable"):
                of += " | None"  # which stands for "not given"
            default = _Parameter.empty if required else p.get("default")
            params.append(_Parameter(p["name"], kind, default=default, annotation=_annotation(of)))
        if self.extra:
            name = "kwargs"
            while name in self.by_name:
                name += "_"
            params.append(_Parameter(name, _Parameter.VAR_KEYWORD, annotation=typing.Any))
        return _Signature(params, return_annotation=_annotation(self.returns))

    def error(self, problem):
        text = f"{problem}\nsignature: {self.name}{self.signature()}"
        return _InvalidArguments(text, code="invalid_arguments", server=self.server, tool=self.tool)

    def bind(self, args, kwargs):
        """Returns the arguments by the schema's keys, without those that were not given."""
        if _len(args) > _len(self.params):
            raise self.error(f"{_len(args)} positional arguments were given, there are at most {_len(self.params)}")
        found = {}
        for p, value in zip(self.params, args):
            self._add(found, p, p["key"], value)
        for name, value in kwargs.items():
            p = self.by_name.get(name)
            # What is no name in Python may be a key of the schema, by **: the host knows.
            self._add(found, p or self._by_key(name), p["key"] if p else name, value)
        return found

    def _by_key(self, key):
        for p in self.params:
            if p["key"] == key:
                return p

    def _add(self, found, p, key, value):
        if key in found:
            raise self.error(f"the argument {(p['name'] if p else key)!r} was given twice")
        if value is not None or p is None or p.get("required") or p.get("nullable"):
            found[key] = value

    def encode(self, args):
        """Returns arguments that are not just JSON as UTF-8 of JSON."""
        try:
            return _join(_encode(_arguments.plain(args), 0)).encode()
        except _Unsendable as exc:
            if exc.path and (p := self._by_key(exc.path[0])):
                exc.path = [p["name"], *exc.path[1:]]
            problem = str(exc)
        raise self.error(problem)


class Tool:
    """A tool of the host. Calling it runs the tool; .aio(...) is the same for await, and others can run meanwhile."""

    def __init__(self, module, name, server):
        self.__module__, self.__name__, self.__qualname__ = f"tools.{module}", name, name
        self._module, self._server = module, server
        self._spec = None  # asked for when it is needed
        self._prefix = None

    def _load(self):
        spec = self._spec
        if spec is None:
            args = {"server": self._server, "names": [self.__name__]}
            spec = self._spec = _Spec(_call("tools.spec", args, error=ToolError)["tools"][0])
            head = _host.head_of("tools.call", {"server": spec.server, "tool": spec.tool, "args": 0})
            self._prefix = head[:-3]  # up to the arguments
        return spec

    def _head(self, args, kwargs):
        """Returns the head of a call, but for its last brackets."""
        spec = self._spec or self._load()
        if args:
            kwargs = spec.bind(args, kwargs)
        else:
            renamed = spec.renamed
            for name, value in kwargs.items():
                if value is None or name in renamed:
                    kwargs = spec.bind(args, kwargs)
                    break
        try:
            data = _join(_encode(kwargs, 0)).encode()
        except _NOT_JSON:
            data = None
        if data is None:
            data = spec.encode(kwargs)
        if _len(data) > _MAX_HEAD - 10_000:
            raise ToolError(
                f"the arguments have {_len(data):,} bytes, the host takes {_MAX_HEAD:,}",
                code="too_large",
                server=spec.server,
                tool=spec.tool,
            )
        return self._prefix + data

    def __call__(self, /, *args, **kwargs):
        head = self._head(args, kwargs)
        frame = b"".join((_START, _to_bytes(_len(head) + 2, 4, "little"), head, b"}}"))
        try:
            return _parse(_exchange(frame, ToolError), 0, ToolError)
        except ToolError as exc:
            self._failed(exc)
            raise

    async def aio(self, /, *args, **kwargs):
        """Calls the tool while other tasks go on: await tool.aio(...), asyncio.gather(tool.aio(...), tool.aio(...))."""
        head = self._head(args, kwargs)
        try:
            return await _host.send_async(head + b"}}", b"", ToolError)
        except ToolError as exc:
            self._failed(exc)
            raise

    def _failed(self, exc):
        if exc.code in ("invalid_arguments", "unknown_tool"):
            self._spec = None  # the server may have changed it
        if exc.server is None:
            exc.server, exc.tool = self._server, self.__name__

    def __get__(self, instance, owner=None):
        return self  # like a built-in function, which help() and inspect take it for

    @property
    def server(self):
        """The name of the tool's server."""
        return self._load().server

    @property
    def tool(self):
        """The name that the server knows the tool by."""
        return self._load().tool

    @property
    def schema(self):
        """The arguments as a JSON schema."""
        args = {"server": self._server, "names": [self.__name__], "schemas": True}
        raw = _call("tools.spec", args, error=ToolError)["tools"][0]
        return raw.get("inputSchema") or _schema(_Spec(raw))

    @property
    def __doc__(self):
        return self._load().doc

    @property
    def __signature__(self):
        return self._load().signature()

    @property
    def __annotations__(self):
        sig = self._load().signature()
        found = {name: p.annotation for name, p in sig.parameters.items()}
        found["return"] = sig.return_annotation
        return found

    def __repr__(self):
        text = f"tools.{self._module}.{self.__name__}"
        try:
            return f"<tool {text}{self._load().signature()}>"
        except _host.HostError:
            return f"<tool {text}>"

    def __reduce__(self):
        return _named, (self.__module__, self.__name__)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def _named(module, name):
    return getattr(importlib.import_module(module), name)


def _schema(spec):
    """Returns the parameters as a JSON schema, as far as their annotations say."""
    names = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}
    properties = {}
    for p in spec.params:
        of = properties[p["key"]] = {}
        if kind := names.get(p["type"].partition("[")[0]):
            of["type"] = kind
        if p.get("doc"):
            of["description"] = p["doc"]
        if "default" in p:
            of["default"] = p["default"]
    required = [p["key"] for p in spec.params if p.get("required")]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": spec.extra}


# ---- search


class Match:
    """A tool that a search found."""

    __slots__ = ("server", "tool", "name", "import_", "signature", "summary")
    __module__ = "mayfly"

    def __init__(self, raw):
        self.server, self.tool, self.name = raw["server"], raw["tool"], raw["name"]
        self.import_, self.signature, self.summary = raw["import"], raw["signature"], raw["summary"]

    def __repr__(self):
        summary = f"  # {self.summary}" if self.summary else ""
        return f"{self.import_}\n    {self.signature}{summary}"


class Matches(list):
    """The tools that a search found, best first. failed has why servers could not be searched, by name."""

    __module__ = "mayfly"

    def __init__(self, found=(), failed=None):
        super().__init__(found)
        self.failed = failed or {}

    def __repr__(self):
        lines = [repr(m) for m in self] or ["no tool was found"]
        lines += [f"# the server {name} could not be searched: {why}" for name, why in self.failed.items()]
        return "\n".join(lines)


def search(query, limit=10, server=None):
    """Finds tools by words, in one server or in all, best first."""
    args = {"query": query, "limit": limit, "server": _name(server) or ""}
    _, found, head = _host.request("tools.search", args, error=ToolError)
    return Matches(map(Match, found), (head or {}).get("failed"))


class _Text(str):
    """Text that is shown as it is."""

    __slots__ = ()

    def __repr__(self):
        return str(self)

    def __reduce__(self):
        return str, (str(self),)


def describe(ref):
    """Returns all that is known of a tool ("server.tool", or the function) or of a server ("server", or the module)."""
    return _Text(_call("tools.describe", {"tool": _name(ref)}, error=ToolError))


def _name(ref):
    if isinstance(ref, Tool):
        return f"{ref._module}.{ref.__name__}"
    if inspect.ismodule(ref):
        return ref.__name__.removeprefix("tools.")
    return ref


def servers():
    """Returns the names of the tool servers, as modules of this package."""
    return [s["name"] for s in _call("tools.servers", {}, error=ToolError)["servers"]]


for _function in (search, describe, servers):
    _function.__module__ = "tools"
