"""Session: what several requests have in common."""

import time
import warnings
from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urldefrag, urljoin, urlsplit

from mayfly import _http

from . import exceptions
from .models import REDIRECTS, PreparedRequest, Request, Response
from .structures import CaseInsensitiveDict
from .utils import default_headers

_clock = time.perf_counter
DEFAULT_REDIRECT_LIMIT = 30
_PORTS = {"http": 80, "https": 443}


def merge_setting(request, session, dict_class=dict):
    """Returns the request's mapping upon the session's; what is None in it is left out."""
    if request is None or session is None:
        return session if request is None else request
    if not (isinstance(session, Mapping) and isinstance(request, (Mapping, list, tuple))):
        return request
    merged = dict_class(session)
    merged.update(request)
    for key in [key for key, value in merged.items() if value is None]:
        del merged[key]
    return merged


class Session:
    """Headers, cookies, params, auth and hooks that all its requests have."""

    def __init__(self):
        self.headers, self.params, self.auth, self.hooks = default_headers(), {}, None, {"response": []}
        self.max_redirects, self.adapters = DEFAULT_REDIRECT_LIMIT, {}
        self.verify, self.stream, self.trust_env, self.cert, self.proxies = True, False, True, None, {}
        self._cookies = None

    @property
    def cookies(self):
        """The cookies, a jar and a mapping. It can be set."""
        if self._cookies is None:
            from .cookies import RequestsCookieJar

            self._cookies = RequestsCookieJar()
        return self._cookies

    @cookies.setter
    def cookies(self, value):
        if not hasattr(value, "add_cookie_header"):
            from .cookies import cookiejar_from_dict

            value = cookiejar_from_dict(value)
        self._cookies = value

    def prepare_request(self, request):
        """Returns the PreparedRequest of a Request in this session."""
        cookies = request.cookies
        if self._cookies is not None and len(list(self._cookies)):
            from .cookies import RequestsCookieJar, cookiejar_from_dict

            merged = RequestsCookieJar()
            merged.update(self._cookies)
            if cookies:
                merged.update(cookies if hasattr(cookies, "add_cookie_header") else cookiejar_from_dict(cookies))
            cookies = merged
        p = PreparedRequest()
        p.prepare(
            method=request.method, url=request.url, files=request.files, data=request.data, json=request.json,
            headers=merge_setting(request.headers, self.headers, CaseInsensitiveDict),
            params=merge_setting(request.params, self.params) if self.params else request.params,
            auth=request.auth if request.auth is not None else self.auth, cookies=cookies, hooks=self._merged_hooks(request.hooks),
        )  # fmt: skip
        return p

    def _merged_hooks(self, hooks):
        def as_list(found):
            return [found] if callable(found) else list(found or ())

        return {"response": as_list((hooks or {}).get("response")) or as_list(self.hooks.get("response"))}

    def request(
        self, method, url, params=None, data=None, headers=None, cookies=None, files=None, auth=None, timeout=None,
        allow_redirects=True, proxies=None, hooks=None, stream=None, verify=None, cert=None, json=None,
    ):  # fmt: skip
        """Makes a request and returns the Response; see requests.request."""
        request = Request(method, url, headers, files, data, params, auth, cookies, hooks, json)
        return self.send(
            self.prepare_request(request), timeout=timeout, allow_redirects=allow_redirects, proxies=proxies, verify=verify, cert=cert
        )

    def send(self, request, timeout=None, allow_redirects=True, proxies=None, verify=None, cert=None, stream=None):
        """Sends a PreparedRequest."""
        if verify is False or self.verify is False:
            _ignored("verify=False", "certificates are verified always")
        if proxies or self.proxies:
            _ignored("proxies", "there are none between the host and the server")
        if cert or self.cert:
            _ignored("cert", "there are no client certificates")
        response = self._send_once(request, timeout)
        history = []
        while allow_redirects and response.is_redirect:
            if len(history) >= self.max_redirects:
                raise exceptions.TooManyRedirects(f"Exceeded {self.max_redirects} redirects.", response=response)
            history.append(response)
            request = self._redirected(request, response)
            response = self._send_once(request, timeout)
            response.history = list(history)
        return response

    def _send_once(self, request, timeout):
        start = _clock()
        headers = [(n, v) for n, v in request.headers.items() if n.lower() not in ("accept-encoding", "content-length")]
        headers = [pair for pair in headers if _http.forward(*pair)]
        try:
            url, _ = urldefrag(request.url)
            head, body = _http.request(request.method or "GET", url, headers, request.body or b"", _seconds(timeout))
        except OSError as exc:
            raise _explained(exc, request) from None
        response = Response._made(request, head, body, timedelta(seconds=_clock() - start))
        if "Set-Cookie" in response.headers:
            from .cookies import extract

            extract(self.cookies, request.url, response._pairs)
        for hook in request.hooks.get("response", ()):
            response = hook(response, timeout=timeout) or response
        return response

    def _redirected(self, request, response):
        """Returns the request that a redirect asks for."""
        status, new = response.status_code, request.copy()
        location = response.headers["Location"].encode("latin-1").decode("utf-8", "replace")
        target = urljoin(request.url, location)
        fragment = urlsplit(request.url).fragment
        if fragment and not urlsplit(target).fragment:
            target += f"#{fragment}"
        if request.method != "HEAD" and (status in (302, 303) or status == 301 and request.method == "POST"):
            new.method = "GET"
        if status not in (307, 308):
            new.body = None
            for name in ("Content-Length", "Content-Type", "Transfer-Encoding"):
                new.headers.pop(name, None)
        parsed = Request("GET", target).prepare()  # checks it as well
        new.url = parsed.url
        other = _other_host(request.url, new.url)
        if other:
            new.headers.pop("Authorization", None)
        if "Authorization" in parsed.headers:
            new.headers["Authorization"] = parsed.headers["Authorization"]
        if self._cookies is not None or "Cookie" in new.headers:
            new.headers.pop("Cookie", None)
            # The request's own cookies are for every host, so they stay with the first one.
            jar = self.cookies
            if request._cookies and not other:
                jar = jar.copy()
                jar.update(request._cookies)
                jar.update(self.cookies)
            new._cookies = None if other else request._cookies
            from .cookies import cookie_header

            if header := cookie_header(jar, new.url):
                new.headers["Cookie"] = header
        return new

    def mount(self, prefix, adapter):
        """Keeps the adapter, see requests.adapters."""
        self.adapters[prefix] = adapter

    def get_adapter(self, url):
        for prefix in sorted(self.adapters, key=len, reverse=True):
            if url.lower().startswith(prefix.lower()):
                return self.adapters[prefix]
        from .adapters import HTTPAdapter

        return HTTPAdapter()

    def get(self, url, **kwargs):
        return self.request("GET", url, **kwargs)

    def options(self, url, **kwargs):
        return self.request("OPTIONS", url, **kwargs)

    def head(self, url, **kwargs):
        kwargs.setdefault("allow_redirects", False)
        return self.request("HEAD", url, **kwargs)

    def post(self, url, data=None, json=None, **kwargs):
        return self.request("POST", url, data=data, json=json, **kwargs)

    def put(self, url, data=None, **kwargs):
        return self.request("PUT", url, data=data, **kwargs)

    def patch(self, url, data=None, **kwargs):
        return self.request("PATCH", url, data=data, **kwargs)

    def delete(self, url, **kwargs):
        return self.request("DELETE", url, **kwargs)

    def close(self):
        """Does nothing: connections are the host's."""

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


def session():
    """Returns a Session."""
    return Session()


def _seconds(timeout):
    if isinstance(timeout, (tuple, list)):
        times = [t for t in timeout if t is not None]
        return sum(times) if times else None
    return timeout


def _explained(exc, request):
    """Returns the exception that programs expect."""
    code = getattr(exc, "code", None)
    if isinstance(exc, TimeoutError):
        kind = exceptions.ReadTimeout
    elif code == "bad_request":
        kind = exceptions.InvalidURL
    elif "certificate" in str(exc):
        kind = exceptions.SSLError
    else:
        kind = exceptions.ConnectionError
    error = kind(str(exc), request=request)
    error.code, error.hint = code, getattr(exc, "hint", None)
    error.mayfly_hint = error.hint
    return error


def _other_host(old, new):
    """Tells whether credentials for one URL are none of the other's business."""
    old, new = urlsplit(old), urlsplit(new)
    if old.hostname != new.hostname:
        return True
    ports = [p.port or _PORTS.get(p.scheme) for p in (old, new)]
    if (old.scheme, new.scheme) == ("http", "https") and ports == [80, 443]:
        return False
    return old.scheme != new.scheme or ports[0] != ports[1]


def _ignored(what, why):
    warnings.warn(f"{what} makes no difference in the sandbox: {why}", exceptions.RequestsWarning, stacklevel=4)
