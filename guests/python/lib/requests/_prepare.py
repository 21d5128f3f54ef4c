"""Makes URLs and bodies out of what programs give."""

import json as _json
import os
from collections.abc import Mapping
from urllib.parse import unquote, urlencode, urlsplit, urlunsplit

from .exceptions import InvalidJSONError, InvalidSchema, InvalidURL, MissingSchema
from .utils import requote_uri


def pairs(data):
    """Returns what a mapping, or an iterable of pairs, has: one pair for each of a list of values, none for None."""
    out = []
    for key, values in data.items() if isinstance(data, Mapping) else data:
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            values = [values]
        out += [(key, value) for value in values if value is not None]
    return out


def encode(data):
    """Encodes params, or a form."""
    if isinstance(data, bytes):
        return data.decode("utf-8")
    return data if isinstance(data, str) else urlencode(pairs(data))


def url(text, params):
    """Returns the URL, and the name and password that stood in it, or None."""
    text = text.decode("utf-8") if isinstance(text, bytes) else str(text)
    text = text.lstrip()
    scheme, colon, _ = text.partition(":")
    if "://" not in text and not (colon and scheme.isalpha() and not text[len(scheme) + 1 :][:1].isdigit()):
        raise MissingSchema(f"Invalid URL {text!r}: No scheme supplied. Perhaps you meant https://{text}?")
    if scheme.lower() not in ("http", "https"):
        raise InvalidSchema(f"No connection adapters were found for {text!r}")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
        if host and not host.isascii():
            host = host.encode("idna").decode("ascii")
    except ValueError as exc:
        raise InvalidURL(f"Invalid URL {text!r}: {exc}") from None
    if not host or host.startswith("*"):
        raise InvalidURL(f"Invalid URL {text!r}: No host supplied")
    auth = None
    if "@" in parts.netloc:
        auth = unquote(parts.username or ""), unquote(parts.password or "")
    netloc = f"[{host}]" if ":" in host else host
    if port is not None:
        netloc += f":{port}"
    query = parts.query
    if params and (more := encode(params)):
        query = f"{query}&{more}" if query else more
    return requote_uri(urlunsplit((parts.scheme, netloc, parts.path or "/", query, parts.fragment))), auth


def body(data, files, json):
    """Returns the body as bytes, or None, and its content type, or None."""
    if files:
        return multipart(data, files)
    if data is None or data == {} or data == [] or data == ():
        if json is None:
            return None, None
        try:
            return _json.dumps(json, allow_nan=False).encode("utf-8"), "application/json"
        except ValueError as exc:
            raise InvalidJSONError(exc) from None
    if isinstance(data, Mapping) or isinstance(data, (list, tuple)):
        return encode(data).encode("utf-8"), "application/x-www-form-urlencoded"
    return raw(data), None


def raw(data):
    """Returns the bytes of what is str, bytes, a file or an iterable of them."""
    if isinstance(data, str):
        return data.encode("utf-8")
    if hasattr(data, "read"):
        return raw(data.read())
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if hasattr(data, "__iter__"):
        return b"".join(map(raw, data))
    raise TypeError(f"a body of the type {type(data).__name__}")


def multipart(data, files):
    """Returns a form with files, as bytes, and its content type."""
    boundary = os.urandom(16).hex()
    out = []

    def add(disposition, content, kind=None, headers=None):
        head = [f"--{boundary}", f"Content-Disposition: form-data; {disposition}"]
        if kind:
            head.append(f"Content-Type: {kind}")
        head += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if any("\r" in line or "\n" in line for line in head):
            raise ValueError("a line break in the headers of a part")
        out.extend(("\r\n".join(head).encode("utf-8"), b"\r\n\r\n", content, b"\r\n"))

    for name, value in pairs(data) if data else ():
        add(f"name={_quoted(name)}", value if isinstance(value, bytes) else str(value).encode("utf-8"))
    for name, value in files.items() if isinstance(files, Mapping) else files:
        filename, kind, headers = None, None, None
        if isinstance(value, (tuple, list)):
            filename, value, kind, headers = (*value, None, None)[:4] if len(value) < 4 else value
        else:
            filename = _file_name(value) or name
        if value is None:
            continue
        named = f"; filename={_quoted(filename)}" if filename else ""
        add(f"name={_quoted(name)}{named}", raw(value), kind, headers)
    out.append(f"--{boundary}--\r\n".encode("ascii"))
    return b"".join(out), f"multipart/form-data; boundary={boundary}"


def _file_name(file):
    name = getattr(file, "name", None)
    return os.path.basename(name) if isinstance(name, str) and not name.startswith("<") else None


def _quoted(text):
    text = text.decode("utf-8") if isinstance(text, bytes) else str(text)
    return '"' + text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A") + '"'
