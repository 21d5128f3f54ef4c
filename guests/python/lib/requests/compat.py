"""Names that programs import from here."""

import json  # noqa: F401
from collections.abc import Callable, Mapping, MutableMapping  # noqa: F401
from urllib.parse import (  # noqa: F401
    quote,
    quote_plus,
    unquote,
    unquote_plus,
    urldefrag,
    urlencode,
    urljoin,
    urlparse,
    urlsplit,
    urlunparse,
)

basestring = (str, bytes)
builtin_str = str
JSONDecodeError = json.JSONDecodeError
