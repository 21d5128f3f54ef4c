"""HTTP for programs in a Mayfly sandbox, by the interface of the well-known package of this name.

It is not that package: it was written for the sandbox, whose host makes the requests, as far as it allows them. What there
is: the functions of the methods, Session, params, data, json, files, headers, cookies, auth, timeout, redirects with
history, hooks, streaming in form, Response and the exceptions. What is not: adapters that do anything, proxies, client
certificates, digest authentication and netrc. `verify` makes no difference: the host verifies certificates always. A
response is in memory as a whole, also with stream=True; its size is bounded by the host.

A package named requests in /packages, or in the program's own directory, is found before this one.
"""

__version__ = "2.32+mayfly"

from . import adapters, compat, exceptions, packages, utils
from .api import delete, get, head, options, patch, post, put, request
from .exceptions import (
    ConnectionError,
    ConnectTimeout,
    HTTPError,
    InvalidURL,
    JSONDecodeError,
    MissingSchema,
    ReadTimeout,
    RequestException,
    Timeout,
    TooManyRedirects,
    URLRequired,
)
from .models import PreparedRequest, Request, Response
from .sessions import Session, session
from .status_codes import codes

__all__ = [
    "ConnectTimeout", "ConnectionError", "HTTPError", "InvalidURL", "JSONDecodeError", "MissingSchema", "PreparedRequest",
    "ReadTimeout", "Request", "RequestException", "Response", "Session", "Timeout", "TooManyRedirects", "URLRequired", "adapters",
    "codes", "compat", "delete", "exceptions", "get", "head", "options", "packages", "patch", "post", "put", "request",
    "session", "utils",
]  # fmt: skip


def __getattr__(name):
    if name != "cookies":  # it needs more of the standard library than all the others
        raise AttributeError(f"module 'requests' has no attribute {name!r}")
    import importlib

    return importlib.import_module(".cookies", __name__)
