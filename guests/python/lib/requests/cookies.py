"""Cookies: the standard library's jar, which is a mapping as well."""

import http.cookiejar
import urllib.request
from collections.abc import MutableMapping


class CookieConflictError(RuntimeError):
    """There are two cookies of this name."""


def create_cookie(name, value, **kwargs):
    """Makes a cookie, by default one for every host."""
    fields = {
        "version": 0, "port": None, "domain": "", "path": "/", "secure": False, "expires": None, "discard": True, "comment": None,
        "comment_url": None, "rest": {"HttpOnly": None}, "rfc2109": False,
    }  # fmt: skip
    if unknown := set(kwargs) - set(fields):
        raise TypeError(f"create_cookie() got unexpected keyword arguments: {sorted(unknown)}")
    fields.update(kwargs)
    fields["port_specified"] = bool(fields["port"])
    fields["domain_specified"] = bool(fields["domain"])
    fields["domain_initial_dot"] = fields["domain"].startswith(".")
    fields["path_specified"] = bool(fields["path"])
    return http.cookiejar.Cookie(name=name, value=value, **fields)


class RequestsCookieJar(http.cookiejar.CookieJar, MutableMapping):
    """A jar that can be used like a dict of names and values."""

    def _find(self, name, domain=None, path=None):
        return [
            c for c in iter(self) if c.name == name and domain in (None, c.domain) and path in (None, c.path)
        ]

    def get(self, name, default=None, domain=None, path=None):
        try:
            return self._one(name, domain, path)
        except KeyError:
            return default

    def _one(self, name, domain=None, path=None):
        found = self._find(name, domain, path)
        if not found:
            raise KeyError(name)
        if len(found) > 1:
            raise CookieConflictError(f"there are several cookies with the name {name!r}: say get(name, domain=..., path=...)")
        return found[0].value

    def set(self, name, value, **kwargs):
        if value is None:
            for c in self._find(name, kwargs.get("domain"), kwargs.get("path")):
                self.clear(c.domain, c.path, c.name)
            return None
        cookie = create_cookie(name, value, **kwargs)
        self.set_cookie(cookie)
        return cookie

    def __getitem__(self, name):
        return self._one(name)

    def __setitem__(self, name, value):
        self.set(name, value)

    def __delitem__(self, name):
        found = self._find(name)
        if not found:
            raise KeyError(name)
        for c in found:
            self.clear(c.domain, c.path, c.name)

    def __contains__(self, name):
        return any(c.name == name for c in iter(self)) or any(c is name for c in iter(self))

    def keys(self):
        return [c.name for c in iter(self)]

    def values(self):
        return [c.value for c in iter(self)]

    def items(self):
        return [(c.name, c.value) for c in iter(self)]

    iterkeys, itervalues, iteritems = keys, values, items

    def get_dict(self, domain=None, path=None):
        return {c.name: c.value for c in iter(self) if domain in (None, c.domain) and path in (None, c.path)}

    def list_domains(self):
        return sorted({c.domain for c in iter(self)})

    def update(self, other=(), **kwargs):
        if isinstance(other, http.cookiejar.CookieJar):
            for c in iter(other):
                self.set_cookie(c)
        else:
            for name, value in dict(other, **kwargs).items():
                self[name] = value

    def copy(self):
        new = RequestsCookieJar(self._policy)
        new.update(self)
        return new

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["_cookies_lock"]
        return state

    def __setstate__(self, state):
        import threading

        self.__dict__.update(state)
        self._cookies_lock = threading.RLock()


def cookiejar_from_dict(cookies, cookiejar=None):
    """Returns a jar with these cookies."""
    jar = RequestsCookieJar() if cookiejar is None else cookiejar
    for name, value in (cookies or {}).items():
        jar.set_cookie(create_cookie(name, value))
    return jar


def cookie_header(jar, url):
    """Returns the Cookie header for a URL, or None."""
    request = urllib.request.Request(url)
    jar.add_cookie_header(request)
    return request.get_header("Cookie")


class _Headers:
    def __init__(self, pairs):
        self.pairs = pairs

    def info(self):
        return self

    def get_all(self, name, default=None):
        return [v for n, v in self.pairs if n.lower() == name.lower()] or default


def extract(jar, url, pairs):
    """Takes the cookies out of a response's headers."""
    jar.extract_cookies(_Headers(pairs), urllib.request.Request(url))
