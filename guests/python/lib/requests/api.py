"""A function for each method, each with a session of its own."""

from .sessions import Session


def request(method, url, **kwargs):
    """Makes a request and returns the Response.

    Optional: params, data, json, headers, cookies, files, auth, timeout (seconds for all of it, or a pair that is added
    up), allow_redirects, hooks, stream. verify, cert and proxies are the host's business.
    """
    with Session() as session:
        return session.request(method, url, **kwargs)


def get(url, params=None, **kwargs):
    """Makes a GET request; see request."""
    return request("GET", url, params=params, **kwargs)


def options(url, **kwargs):
    """Makes an OPTIONS request; see request."""
    return request("OPTIONS", url, **kwargs)


def head(url, **kwargs):
    """Makes a HEAD request, by default without following redirects; see request."""
    kwargs.setdefault("allow_redirects", False)
    return request("HEAD", url, **kwargs)


def post(url, data=None, json=None, **kwargs):
    """Makes a POST request; see request."""
    return request("POST", url, data=data, json=json, **kwargs)


def put(url, data=None, **kwargs):
    """Makes a PUT request; see request."""
    return request("PUT", url, data=data, **kwargs)


def patch(url, data=None, **kwargs):
    """Makes a PATCH request; see request."""
    return request("PATCH", url, data=data, **kwargs)


def delete(url, **kwargs):
    """Makes a DELETE request; see request."""
    return request("DELETE", url, **kwargs)
