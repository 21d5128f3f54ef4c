"""Request, PreparedRequest and Response."""

import io
import json as _json

from . import _prepare
from .auth import HTTPBasicAuth
from .exceptions import HTTPError, InvalidHeader, JSONDecodeError
from .structures import CaseInsensitiveDict
from .utils import get_encoding_from_headers, parse_header_links

REDIRECTS = frozenset((301, 302, 303, 307, 308))
ITER_CHUNK_SIZE = 512


class Request:
    """A request as the program gives it; Session.prepare_request makes it ready."""

    def __init__(
        self, method=None, url=None, headers=None, files=None, data=None, params=None, auth=None, cookies=None, hooks=None,
        json=None,
    ):  # fmt: skip
        self.method, self.url, self.headers, self.files, self.data = method, url, headers or {}, files or [], data
        self.params, self.auth, self.cookies, self.hooks, self.json = params or {}, auth, cookies, hooks or {}, json

    def __repr__(self):
        return f"<Request [{self.method}]>"

    def prepare(self):
        """Returns the PreparedRequest, without what a session has."""
        p = PreparedRequest()
        p.prepare(
            self.method, self.url, self.headers, self.files, self.data, self.params, self.auth, self.cookies, self.hooks, self.json
        )
        return p


class PreparedRequest:
    """A request as it is sent."""

    def __init__(self):
        self.method = self.url = self.body = self._cookies = None
        self.headers, self.hooks = CaseInsensitiveDict(), {}

    def prepare(
        self, method=None, url=None, headers=None, files=None, data=None, params=None, auth=None, cookies=None, hooks=None,
        json=None,
    ):  # fmt: skip
        self.method = method and method.upper()
        self.url, in_url = _prepare.url(url, params)
        self.prepare_headers(headers)
        self.prepare_cookies(cookies)
        self.body, kind = _prepare.body(data, files, json)
        if kind and "Content-Type" not in self.headers:
            self.headers["Content-Type"] = kind
        if self.body is not None:
            self.headers["Content-Length"] = str(len(self.body))
        self.prepare_auth(auth or in_url)
        self.hooks = hooks or {}

    def prepare_headers(self, headers):
        self.headers = CaseInsensitiveDict()
        for name, value in (headers or {}).items():
            name, value = (x.decode("latin-1") if isinstance(x, bytes) else x for x in (name, value))
            if not isinstance(value, str):
                raise InvalidHeader(f"Header value must be str or bytes, not {type(value).__name__}: {name}")
            if any(c in name + value for c in "\r\n\0") or value[:1].isspace():
                raise InvalidHeader(f"Invalid leading whitespace, line break or zero in the header {name!r}")
            self.headers[name] = value

    def prepare_cookies(self, cookies):
        self._cookies = cookies
        if cookies and "Cookie" not in self.headers:
            from . import cookies as module

            if not hasattr(cookies, "add_cookie_header"):
                cookies = self._cookies = module.cookiejar_from_dict(cookies)
            if header := module.cookie_header(cookies, self.url):
                self.headers["Cookie"] = header

    def prepare_auth(self, auth):
        if isinstance(auth, tuple) and len(auth) == 2:
            auth = HTTPBasicAuth(*auth)
        if auth:
            # It may change everything.
            self.__dict__.update(auth(self).__dict__)
            if self.body is not None:
                self.body = _prepare.raw(self.body)
                self.headers["Content-Length"] = str(len(self.body))

    @property
    def path_url(self):
        """The path and the query."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def copy(self):
        p = PreparedRequest()
        p.__dict__.update(self.__dict__, headers=self.headers.copy())
        return p

    def __repr__(self):
        return f"<PreparedRequest [{self.method}]>"


class Response:
    """What a server answered."""

    def __init__(self):
        self.status_code = self.url = self.reason = self.elapsed = self.request = self.encoding = None
        self.headers, self.history, self._content, self._pairs, self._cookies = CaseInsensitiveDict(), [], b"", (), None
        self._raw = None

    @classmethod
    def _made(cls, request, head, body, elapsed):
        r = cls()
        r.request, r.url, r._content, r.elapsed = request, request.url, body, elapsed
        r.status_code, r.reason = head["status"], head["reason"]
        r._pairs = [tuple(pair) for pair in head["headers"]]
        for name, value in r._pairs:
            r.headers[name] = f"{r.headers[name]}, {value}" if name in r.headers else value
        r.encoding = get_encoding_from_headers(r.headers)
        return r

    @property
    def cookies(self):
        """The cookies that the response sets."""
        if self._cookies is None:
            from . import cookies as module

            self._cookies = module.RequestsCookieJar()
            if self.request is not None:
                module.extract(self._cookies, self.request.url, self._pairs)
        return self._cookies

    @property
    def raw(self):
        """The body as a file."""
        if self._raw is None:
            self._raw = _Raw(self._content)
        return self._raw

    @property
    def content(self):
        """The body as bytes."""
        return self._content

    @property
    def apparent_encoding(self):
        """UTF-8 if the body is that, else Latin-1."""
        try:
            self._content.decode("utf-8")
        except UnicodeDecodeError:
            return "iso-8859-1"
        return "utf-8"

    @property
    def text(self):
        """The body as str, by .encoding, which can be set; by default what the headers say, else UTF-8."""
        try:
            return str(self._content, self.encoding or "utf-8", errors="replace")
        except (LookupError, TypeError, ValueError):  # the server knows an encoding that Python does not
            return str(self._content, "utf-8", errors="replace")

    def json(self, **kwargs):
        """The value of a body that is JSON."""
        try:
            if self.encoding is None:
                return _json.loads(self._content, **kwargs)
            return _json.loads(self.text.removeprefix("\ufeff"), **kwargs)
        except _json.JSONDecodeError as exc:
            raise JSONDecodeError(exc.msg, exc.doc, exc.pos, response=self) from None
        except UnicodeDecodeError:
            raise JSONDecodeError("the body is no text", "", 0, response=self) from None

    @property
    def ok(self):
        """Whether the status says that it worked."""
        return self.status_code < 400

    def raise_for_status(self):
        """Raises HTTPError if the status says that it failed."""
        if 400 <= self.status_code < 600:
            whose = "Client" if self.status_code < 500 else "Server"
            raise HTTPError(f"{self.status_code} {whose} Error: {self.reason} for url: {self.url}", response=self)

    @property
    def is_redirect(self):
        return "Location" in self.headers and self.status_code in REDIRECTS

    @property
    def is_permanent_redirect(self):
        return "Location" in self.headers and self.status_code in (301, 308)

    @property
    def links(self):
        """The links of the Link header, by rel."""
        return {link.get("rel") or link["url"]: link for link in parse_header_links(self.headers.get("Link", ""))}

    def iter_content(self, chunk_size=1, decode_unicode=False):
        """Gives the body in pieces; None gives all of it."""
        if chunk_size is not None and not isinstance(chunk_size, int):
            raise TypeError(f"chunk_size must be an int, it is instead a {type(chunk_size)}.")
        data = self.text if decode_unicode and self.encoding else self._content
        step = chunk_size or max(len(data), 1)
        return (data[i : i + step] for i in range(0, len(data), step))

    def iter_lines(self, chunk_size=ITER_CHUNK_SIZE, decode_unicode=False, delimiter=None):
        """Gives the body in lines, without their ends."""
        data = self.text if decode_unicode and self.encoding else self._content
        return iter(data.split(delimiter) if delimiter else data.splitlines())

    def close(self):
        """Does nothing: there is no connection to give back."""

    def __iter__(self):
        return self.iter_content(128)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def __bool__(self):
        return self.ok

    def __repr__(self):
        return f"<Response [{self.status_code}]>"


class _Raw(io.BytesIO):
    """The body as a file, with what programs use of the package below."""

    decode_content = False

    def read(self, amt=None, decode_content=None, cache_content=False):
        return super().read(amt)

    def stream(self, amt=65536, decode_content=None):
        while piece := self.read(amt):
            yield piece

    def release_conn(self):
        pass
