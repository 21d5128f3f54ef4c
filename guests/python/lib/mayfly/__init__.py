"""What a program can ask of the Mayfly sandbox it runs in."""

import _mayfly as _native

__all__ = ["DeadlockError", "build"]

#: The build of the guest: the CPython version and when it was made.
build = _native.BUILD

#: Raised in the main thread when every thread waits for another one.
DeadlockError = _native.DeadlockError
