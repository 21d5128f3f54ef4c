"""Functions that programs use besides."""

import re
from urllib.parse import quote, unquote, urlparse  # noqa: F401

from .structures import CaseInsensitiveDict


def default_user_agent(name="mayfly-requests"):
    """Returns the User-Agent header that is sent by default."""
    from . import __version__

    return f"{name}/{__version__}"


def default_headers():
    """Returns the headers of a new session."""
    return CaseInsensitiveDict(
        {"User-Agent": default_user_agent(), "Accept-Encoding": "gzip, deflate", "Accept": "*/*", "Connection": "keep-alive"}
    )


def parameters(header):
    """Splits 'text/html; charset="utf-8"' into its value and a dict."""
    value, *rest = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', header)
    found = {}
    for part in rest:
        key, _, text = part.partition("=")
        if key := key.strip().lower():
            found[key] = text.strip().strip("\"'")
    return value.strip(), found


def get_encoding_from_headers(headers):
    """Returns the encoding that the headers of a response say, or None."""
    kind, rest = parameters(headers.get("Content-Type", ""))
    if "charset" in rest:
        return rest["charset"]
    return "utf-8" if kind.lower() == "application/json" else None


def parse_header_links(value):
    """Parses a Link header into dicts with "url" and the parameters."""
    links = []
    for part in re.split(r",\s*(?=<)", value.strip()):
        url, rest = parameters(part)
        if url:
            links.append({"url": url.strip("<> '\""), **rest})
    return links


def requote_uri(uri):
    """Quotes what is not quoted in a URI."""
    uri = re.sub("%(?![0-9A-Fa-f]{2})", "%25", uri)
    return quote(uri, safe="!#$%&'()*+,/:;=?@[]~")


def dict_from_cookiejar(jar):
    """Returns the names and values of cookies."""
    return {c.name: c.value for c in jar}


def cookiejar_from_dict(cookies, cookiejar=None):
    """Returns a jar with these cookies."""
    from . import cookies as module

    return module.cookiejar_from_dict(cookies, cookiejar)
