"""Clear errors for what a WebAssembly sandbox does not have: programs to start and sockets."""

import os
import sys

from mayfly import _threads

_PROCESS = (
    "there are no processes in the sandbox",
    "call the library function instead of the program (shutil, pathlib, json, re ...)",
)
_SOCKET = (
    "there are no sockets in the sandbox",
    "HTTP works through urllib.request, http.client and requests, as far as the host allows it",
)

# Also an OSError: libraries that can do without (platform, uuid) expect that where something is missing.
_Unsupported = type("RuntimeError", (RuntimeError, OSError), {"__module__": "builtins"})


def _refuse(name, why):
    message, advice = why

    def refuse(*args, **kwargs):
        exc = _Unsupported(f"{name}: {message}")
        exc.mayfly_hint = advice
        raise exc

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Raises RuntimeError: {why[0]}."
    return refuse


_OS = (
    "fork forkpty system popen execl execle execlp execlpe execv execve execvp execvpe spawnl spawnle spawnlp spawnlpe "
    "spawnv spawnve spawnvp spawnvpe posix_spawn posix_spawnp kill killpg wait waitpid"
).split()


def _patch_subprocess(module):
    module.Popen.__init__ = _refuse("subprocess.Popen", _PROCESS)
    # An object that was never set up must not complain when it goes away.
    module.Popen.__del__ = lambda self: None


def _patch_socket(module):
    module.socket.__init__ = _refuse("socket.socket", _SOCKET)
    for name in ("getaddrinfo", "gethostbyname", "create_connection", "socketpair"):
        setattr(module, name, _refuse(f"socket.{name}", _SOCKET))
    module.gethostname = module.getfqdn = lambda *args: "localhost"


def _later(source, name):
    """Returns a patch that stands in a module which is imported when it is needed first."""

    def patch(module):
        import importlib

        getattr(importlib.import_module(source), name)(module)

    return patch


_PATCHES = {
    "subprocess": _patch_subprocess,
    "socket": _patch_socket,
    "multiprocessing.context": _later("mayfly._processes", "patch_context"),
    "multiprocessing.pool": _later("mayfly._processes", "patch_pool"),
    "concurrent.futures.thread": _threads.patch_executor,
    "concurrent.futures.process": _later("mayfly._processes", "patch_process_executor"),
    "http.client": _later("mayfly._http", "patch_client"),
    "urllib.request": _later("mayfly._http", "patch_request"),
    "urllib3.connection": _later("mayfly._http", "patch_urllib3"),
}


class _Patcher:
    """Patches a module right after its import."""

    def find_spec(self, name, path=None, target=None):
        patch = _PATCHES.get(name)
        if patch is None:
            return None
        for finder in sys.meta_path:
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                break
        else:
            return None
        execute = spec.loader.exec_module

        class Loader:
            def create_module(self, spec):
                return None

            def exec_module(self, module):
                execute(module)
                patch(module)

        loader = spec.loader
        if hasattr(loader, "get_source"):
            Loader.get_source = staticmethod(getattr(loader, "get_source"))
        spec.loader = Loader()
        return spec


def install():
    for name in _OS:
        setattr(os, name, _refuse(f"os.{name}", _PROCESS))
    for name, patch in _PATCHES.items():
        if name in sys.modules:
            patch(sys.modules[name])
    sys.meta_path.insert(0, _Patcher())
