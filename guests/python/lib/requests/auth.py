"""Authentication: a callable that gets the prepared request."""

from base64 import b64encode


class AuthBase:
    """What authenticates requests."""

    def __call__(self, r):
        raise NotImplementedError("an AuthBase has to be callable")


def _basic_auth_str(username, password):
    def encode(text):
        if isinstance(text, bytes):
            return text
        text = str(text)
        try:
            return text.encode("latin-1")
        except UnicodeEncodeError:
            return text.encode("utf-8")

    return "Basic " + b64encode(encode(username) + b":" + encode(password)).decode("ascii")


class HTTPBasicAuth(AuthBase):
    """Name and password; the password may be a placeholder from mayfly.secret."""

    def __init__(self, username, password):
        self.username, self.password = username, password

    def __eq__(self, other):
        return (self.username, self.password) == (getattr(other, "username", None), getattr(other, "password", None))

    def __call__(self, r):
        r.headers["Authorization"] = _basic_auth_str(self.username, self.password)
        return r
