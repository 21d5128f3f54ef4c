# The boot program: runs once, in the template that every sandbox is forked from. `payload` holds the support library as
# JSON, {module name: source}. What is imported here is in the base snapshot, so it costs a sandbox nothing.
import _mayfly
import json
import sys
import types
from importlib.machinery import ModuleSpec, PathFinder

_PREFIX = "<mayfly>/"


class _Library:
    """Finds the support library's modules, whose source came with the boot frame."""

    def __init__(self, sources):
        self.sources = sources
        # Compiling takes ten times as long as running; what is compiled here, no sandbox has to compile.
        self.code = {name: compile(source, _PREFIX + name, "exec") for name, source in sources.items()}

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        package = any(n.startswith(name + ".") for n in self.sources)
        return ModuleSpec(name, self, origin=_PREFIX + name, is_package=package)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self.code[module.__spec__.name], module.__dict__)

    def get_source(self, name):
        return self.sources[name]


class _Spare(_Library):
    """Finds packages that give way to real ones: those of the program itself and those in /packages."""

    def find_spec(self, name, path=None, target=None):
        spec = super().find_spec(name, path, target)
        if spec is None:
            return None
        package, _, rest = name.partition(".")
        if rest:
            found = getattr(sys.modules.get(package), "__spec__", None)
            return spec if found is not None and found.loader is self else None
        real = PathFinder.find_spec(name)
        return spec if real is None or real.loader is None else None  # a directory without __init__.py is no real one


_spare, _own = {}, {}
for _name, _source in json.loads(payload).items():
    (_spare if _name.partition(".")[0] == "requests" else _own)[_name] = _source

sys.meta_path.insert(0, _Library(_own))
sys.meta_path.insert(0, _Spare(_spare))

import mayfly._guest

_mayfly.set_handler(mayfly._guest.handle)

# What the template has not got, a sandbox may have: /packages above all.
sys.path_importer_cache.clear()
