"""The part of CPython's _pyrepl that pydoc needs. The interactive prompt itself needs a terminal of a real system."""
