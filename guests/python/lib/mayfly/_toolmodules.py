"""Makes the package "tools", with a module for each tool server of the host. It is there when the host has servers; a program
may have a module of its own of that name otherwise."""

import difflib
import importlib
import sys
from importlib.machinery import ModuleSpec

from mayfly import _host, _tools

_call, _HostError, _ToolError = _host.call, _host.HostError, _tools.ToolError
_modules = sys.modules

_HOW_TO_ADD = 'name tool servers in a file {"mcpServers": {...}} and start the sandbox with it: mayfly run --tools mcp.json'
_DOC = """Tools of the host. Each server is a module, each tool a function:

    from tools.{example} import ...      then call it, with the arguments that help(...) shows
    await function.aio(...)              calls it while other tasks go on
    tools.search("words")                finds tools by words
    tools.describe("server.tool")        tells all about one
    tools.servers()                      lists the servers: {all}
"""

#: The execution in which the host was asked, and its servers: original names by that of the module.
_known = [-1, {}]


def _servers():
    """Returns the servers; the host is asked once in an execution."""
    if _known[0] != _host.execution[0]:
        try:
            found = {s["name"]: s["server"] for s in _call("tools.servers", {})["servers"]}
        except _HostError:
            found = {}
        _known[:] = _host.execution[0], found
    return _known[1]


class _Finder:
    """Finds the package and its modules."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "tools":
            return ModuleSpec(name, _Package, origin="the host", is_package=True) if _servers() else None
        if not name.startswith("tools.") or not _ours():
            return None
        server = _servers().get(name[6:])
        return ModuleSpec(name, _Server(name[6:], server), origin="the host") if server is not None else None


def _ours():
    return getattr(getattr(_modules.get("tools"), "__spec__", None), "loader", None) is _Package


class _Package:
    """Loads the package."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        names = list(_servers())
        module.__doc__ = _DOC.format(example=names[0] if names else "server", all=", ".join(names[:100]))
        for name in ("search", "describe", "servers", "ToolError"):
            setattr(module, name, getattr(_tools, name))
        # Not the servers: * would start them all.
        module.__all__ = ["ToolError", "describe", "search", "servers"]
        module.__getattr__ = _server_module
        module.__dir__ = lambda: sorted({*vars(module), *_servers()} - {"__getattr__", "__dir__"})


def _server_module(name):
    if name in _servers():
        return importlib.import_module(f"tools.{name}")
    exc = AttributeError(f"module 'tools' has no attribute {name!r}")
    if not name.startswith("__"):
        exc.mayfly_hint = _no_server(name)
    raise exc


class _Server:
    """Loads the module of a server, and loads it again when it turns out to have other tools."""

    def __init__(self, module, server):
        self.name, self.server = module, server
        self.version, self.names = None, frozenset()
        self.missed = None  # the name that was not found last, and what the host said to it

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        try:
            info = _call("tools.module", {"server": self.server}, error=_ToolError)
        except _ToolError as exc:
            exc.server = exc.server or self.server
            raise
        self.version, self.names = info["version"], frozenset(info["names"])
        namespace = vars(module)
        for name in [n for n, v in namespace.items() if type(v) is _tools.Tool and v._module == self.name]:
            if name in self.names:
                namespace[name]._spec = None
            else:
                del namespace[name]
        module.__doc__ = info.get("doc") or f"Tools of the server {self.server}."
        module.__all__ = info["names"]
        module.__getattr__ = lambda name: self._tool(module, name)
        module.__dir__ = lambda: sorted({*self.names, "__all__", "__doc__", "__name__", "__spec__"})

    def _tool(self, module, name):
        if name in self.names:
            tool = vars(module)[name] = _tools.Tool(self.name, name, self.server)
            return tool
        if name.startswith("__"):
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        # The server may have new tools; or the name is the one that the server uses.
        try:
            found = _call("tools.spec", {"server": self.server, "names": [name]}, error=_ToolError)["tools"][0]["name"]
        except _ToolError as failed:
            if failed.code not in ("unknown_tool", "bad_request"):
                raise
            exc = AttributeError(f"module {module.__name__!r} has no tool {name!r}")
            exc.mayfly_hint = failed.hint
            self.missed = name, failed.hint
            raise exc from None
        if found not in self.names:
            self.exec_module(module)
        if found in self.names:
            return vars(module).get(found) or self._tool(module, found)
        raise AttributeError(f"module {module.__name__!r} has no tool {name!r}")


# ---- hints


def _no_server(name):
    servers = list(_servers())
    if not servers:
        return f"there are no tool servers: {_HOW_TO_ADD}"
    if close := difflib.get_close_matches(name, servers[:1000], 1):
        return f"there is no tool server {name!r}; did you mean {close[0]!r}?"
    more = f", and {len(servers) - 20} more" if len(servers) > 20 else ""
    return f"there is no tool server {name!r}; there are: {', '.join(servers[:20])}{more}"


def hint(exc):
    """Returns what to do about an ImportError of the package or something in it; None if it is of something else."""
    name = exc.name
    if name == "tools" and isinstance(exc, ModuleNotFoundError):
        return f"there are no tool servers: {_HOW_TO_ADD}"
    if not _ours():
        return None
    if name == "tools":
        return _no_server(exc.name_from or "")
    if isinstance(exc, ModuleNotFoundError):
        return _no_server(name[6:])
    loader = getattr(getattr(_modules.get(name), "__spec__", None), "loader", None)
    if isinstance(loader, _Server) and loader.missed and loader.missed[0] == exc.name_from:
        return loader.missed[1]
    return None


def install():
    sys.meta_path.insert(0, _Finder)


def settle():
    """Forgets the servers, and moves what each execution changes to objects that are made now."""
    global _known
    _known = [-1, {}]
