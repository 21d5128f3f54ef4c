"""For programs that turn off the warnings of the package below: there is none here."""

import types

from .exceptions import RequestsWarning


def _disable_warnings(category=None):
    import warnings

    warnings.simplefilter("ignore", RequestsWarning)


urllib3 = types.SimpleNamespace(
    disable_warnings=_disable_warnings,
    exceptions=types.SimpleNamespace(InsecureRequestWarning=RequestsWarning, HTTPWarning=RequestsWarning),
)
