"""HTTP through the host: what http.client and urllib.request need instead of sockets and TLS.

A connection gets an Exchange in the place of its socket. It collects the bytes of a request, and when the response is
asked for, the host makes the request and its answer becomes the bytes of a response. So http.client itself does the rest,
and what is built upon it works alike. Which requests are allowed is for the host to decide.
"""

import io

from mayfly import _host

_ask_host = _host.request

_MAX_TIMEOUT = 1e9  # the host's own limit is far below
_NO_PROXY = "proxies and tunnels do not work in the sandbox: its host makes the requests"


class _Failure:
    """What the errors of HTTP have, besides being an OSError of the usual kind."""

    code = ""

    def __init__(self, code, message, hint=None):
        super().__init__(message)
        self.code, self.hint, self.mayfly_hint = code, hint, hint


class Refused(_Failure, PermissionError):
    """The host does not allow the request."""


class TimedOut(_Failure, TimeoutError):
    """The request took too long."""


class Failed(_Failure, ConnectionError):
    """The request failed, or the server did."""


for _class in (Refused, TimedOut, Failed):
    _class.__module__ = "mayfly"

_KINDS = {"denied": Refused, "unavailable": Refused, "budget": Refused, "timeout": TimedOut}


class _Errors:
    """Makes the errors of one request."""

    def __init__(self, method, url):
        self._method, self._url = method, url

    def of(self, head):
        """Returns the exception for an error of the host."""
        code, message, hint = head.get("code", "server_error"), head.get("message", "the host failed"), head.get("hint")
        if code == "unavailable" and "journal" not in message:
            method = "" if self._method in ("GET", "HEAD") else f"{self._method} "
            site = "/".join(self._url.split("/", 3)[:3])
            message, hint = f"this sandbox has no HTTP: {message}", f'start it with --allow-http "{method}{site}/"'
        kind = _KINDS.get(code, Failed)
        if kind is Refused and hint:
            message = f"{message} ({hint})"  # a program that prints the error tells whom it concerns
        return kind(code, message, hint)


def request(method, url, headers, body=b"", timeout=None):
    """Makes a request. headers are pairs of str. Returns the head of the response, a dict, and its body."""
    args = {"method": method, "url": url, "headers": headers}
    if timeout is not None and 0 < timeout < _MAX_TIMEOUT:
        args["timeout"] = float(timeout)
    _, data, head = _ask_host("http.request", args, body, _Errors(method, url))
    return head, data


def _dechunk(body):
    """Returns what a chunked body holds."""
    out, at = [], 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end].partition(b";")[0], 16)
        at = end + 2
        if size == 0:
            return b"".join(out)
        out.append(body[at : at + size])
        at += size + 2


# Headers that are about a connection, of which there is none. Those that would change its meaning go to the host, which
# refuses them.
_CONNECTION = {"connection": ("close", "keep-alive"), "keep-alive": None, "te": None, "transfer-encoding": ("chunked",)}


def forward(name, value):
    allowed = _CONNECTION.get(name.lower(), ())
    return allowed is not None and value.strip().lower() not in allowed


class Exchange:
    """Stands in the place of a connection's socket."""

    def __init__(self, scheme, host, port, timeout):
        host = host.strip("[]")
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
        self._base = f"{scheme}://{f'[{host}]' if ':' in host else host}"
        if (scheme, port) not in (("http", 80), ("https", 443)):
            self._base += f":{port}"
        self._peer = (host, port)
        self._timeout = timeout
        self._sent = []

    def sendall(self, data, flags=0):
        self._sent.append(bytes(memoryview(data)))

    def send(self, data, flags=0):
        self.sendall(data)
        return memoryview(data).nbytes

    def makefile(self, mode="r", buffering=None, **kwargs):
        """Returns the response as a file; the first one to read it makes the request."""
        if mode != "rb":
            return io.BufferedWriter(_Writer(self))
        sent, self._sent = b"".join(self._sent), []
        return io.BufferedReader(_Reader(self, sent))

    def _respond(self, sent):
        """Makes the request whose bytes were sent, and returns those of the response."""
        head, _, body = sent.partition(b"\r\n\r\n")
        line, *lines = head.decode("latin-1").split("\r\n")
        method, _, target = line.partition(" ")
        target = target.rpartition(" ")[0]
        if not target.startswith("/"):
            raise Failed("bad_request", _NO_PROXY if "://" in target else f"the path {target!r} does not begin with a slash")
        headers = []
        for line in lines:
            if line[:1] in " \t" and headers:  # a folded line
                headers[-1][1] += " " + line.strip()
                continue
            name, _, value = line.partition(":")
            headers.append([name, value.strip()])
        if any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in headers):
            body = _dechunk(body)
        headers = [pair for pair in headers if forward(*pair)]
        head, body = request(method, self._base + target, headers, body, self._timeout or None)
        lines = [f"HTTP/{'1.0' if head['http_version'] == '1.0' else '1.1'} {head['status']} {head['reason']}"]
        lines += [f"{name}: {value}" for name, value in head["headers"]]
        lines += ["", ""]
        return "\r\n".join(lines).encode("latin-1", "replace") + body

    def settimeout(self, timeout):
        self._timeout = timeout

    def gettimeout(self):
        return self._timeout

    def getpeername(self):
        return self._peer

    def setsockopt(self, *args):
        pass

    def fileno(self):
        return -1

    def shutdown(self, how):
        pass

    def close(self):
        self._sent = []


class _Reader(io.RawIOBase):
    def __init__(self, exchange, sent):
        self._exchange, self._sent, self._response = exchange, sent, None

    def readable(self):
        return True

    def _all(self):
        if self._response is None:
            sent, self._sent = self._sent, b""
            self._response = io.BytesIO(self._exchange._respond(sent))
        return self._response

    def readinto(self, buffer):
        return self._all().readinto(buffer)

    def readall(self):
        return self._all().read()


class _Writer(io.RawIOBase):
    def __init__(self, exchange):
        self._exchange = exchange

    def writable(self):
        return True

    def write(self, data):
        return self._exchange.send(data)


class TLS:
    """Takes the place of an ssl.SSLContext. The host makes the connections, and verifies their certificates always."""

    check_hostname = True
    verify_mode = 2
    post_handshake_auth = None

    def set_alpn_protocols(self, protocols):
        pass


def patch_client(module):
    """Patches http.client."""
    import socket

    plain, refused = module.HTTPConnection.connect, socket.create_connection

    def connect(self):
        """Prepares for a request, which the host makes."""
        if self._create_connection is not refused:  # a stand-in of the program's own
            return plain(self)
        if self._tunnel_host:
            raise Failed("bad_request", _NO_PROXY)
        timeout = self.timeout
        if timeout is socket._GLOBAL_DEFAULT_TIMEOUT:
            timeout = socket.getdefaulttimeout()
        self.sock = Exchange(self._scheme, self.host, self.port, timeout)

    def set_tunnel(self, host, port=None, headers=None):
        """Raises OSError: the host makes the requests, without proxies."""
        raise Failed("bad_request", _NO_PROXY)

    module.HTTPConnection._scheme = "http"
    module.HTTPConnection.connect = connect
    module.HTTPConnection.set_tunnel = set_tunnel
    if hasattr(module, "HTTPSConnection"):
        return

    class HTTPSConnection(module.HTTPConnection):
        """HTTP with TLS, which the host does: a context makes no difference."""

        default_port = module.HTTPS_PORT
        _scheme = "https"

        def __init__(
            self, host, port=None, *, timeout=socket._GLOBAL_DEFAULT_TIMEOUT, source_address=None, context=None, blocksize=8192
        ):
            super().__init__(host, port, timeout, source_address, blocksize=blocksize)
            self._context = TLS() if context is None else context

    HTTPSConnection.__module__, HTTPSConnection.__qualname__ = module.__name__, "HTTPSConnection"
    module.HTTPSConnection = HTTPSConnection
    module._create_https_context = lambda http_version: TLS()
    module.__all__.append("HTTPSConnection")


def patch_request(module):
    """Patches urllib.request, which imported http.client with our HTTPSConnection before."""
    URLError, do_open = module.URLError, module.AbstractHTTPHandler.do_open

    def open_through_host(self, http_class, req, **http_conn_args):
        try:
            return do_open(self, http_class, req, **http_conn_args)
        except (Refused, Failed) as exc:
            error = URLError(exc)
        except URLError as exc:
            error = exc
        error.mayfly_hint = getattr(error.reason, "mayfly_hint", None)
        raise error from None

    open_through_host.__name__ = "do_open"
    module.AbstractHTTPHandler.do_open = open_through_host


def patch_urllib3(module):
    """Patches urllib3.connection, a package's own way to http.client, so that what is built upon it works through the host."""

    def new_connection(self):
        timeout = self.timeout if isinstance(self.timeout, (int, float)) else None
        return Exchange(self._scheme, self.host, self.port, timeout)

    plain = module.HTTPConnection
    plain._new_conn = new_connection
    plain.is_connected = property(lambda self: self.sock is not None)
    if hasattr(module, "connection"):  # versions before 2 look at the socket there
        module.connection.is_connection_dropped = lambda conn: conn.sock is None

    class HTTPSConnection(plain):
        default_port, _scheme = 443, "https"

        def __init__(self, host, port=None, **options):
            known = ("timeout", "source_address", "blocksize", "socket_options", "proxy", "proxy_config")
            super().__init__(host, port or 443, **{name: options[name] for name in known if name in options})

        def set_cert(self, *args, **kwargs):
            """Does nothing: the host verifies certificates."""

        def connect(self):
            super().connect()
            self.is_verified = True

    HTTPSConnection.__module__, HTTPSConnection.__qualname__ = module.__name__, "HTTPSConnection"
    module.HTTPSConnection = module.VerifiedHTTPSConnection = HTTPSConnection
