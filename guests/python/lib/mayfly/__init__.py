"""What a program can ask of the Mayfly sandbox it runs in, and of the host."""

import _mayfly as _native

#: The build of the guest: the CPython version and when it was made.
build = _native.BUILD

#: Raised in the main thread when every thread waits for another one.
DeadlockError = _native.DeadlockError

# What needs the host is loaded when it is used.
_LAZY = {
    "HostError": "_host",
    "ToolError": "_tools",
    "ask_llm": "_llm",
    "ask_llm_batch": "_llm",
    "LLMError": "_llm",
    "secret": "_secrets",
    "Image": "_values",
    "Audio": "_values",
    "Resource": "_values",
    "Link": "_values",
    "LargeResult": "_values",
    "Match": "_tools",
    "Matches": "_tools",
}

__all__ = ["DeadlockError", "build", *_LAZY]


def __getattr__(name):
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'mayfly' has no attribute {name!r}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(f"mayfly.{module}"), name)
    return value


def __dir__():
    return sorted(__all__)
