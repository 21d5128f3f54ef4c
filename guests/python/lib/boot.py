# The boot program: runs once, in the template that every sandbox is forked from. `payload` holds the support library as
# JSON, {module name: source}. What is imported here is in the base snapshot, so it costs a sandbox nothing.
import _mayfly
import json
import sys
import types
from importlib.machinery import ModuleSpec

_PREFIX = "<mayfly>/"


class _Library:
    """Finds the support library's modules, whose source came with the boot frame."""

    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        package = any(n.startswith(name + ".") for n in self.sources)
        return ModuleSpec(name, self, origin=_PREFIX + name, is_package=package)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        name = module.__name__
        exec(compile(self.sources[name], _PREFIX + name, "exec"), module.__dict__)

    def get_source(self, name):
        return self.sources[name]


sys.meta_path.insert(0, _Library(json.loads(payload)))

import mayfly._guest

_mayfly.set_handler(mayfly._guest.handle)
