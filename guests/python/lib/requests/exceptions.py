"""The exceptions: all are RequestExceptions."""

import json


class RequestException(IOError):
    """Something went wrong with a request. It has .request and .response, as far as there are any."""

    def __init__(self, *args, request=None, response=None):
        super().__init__(*args)
        self.response = response
        self.request = request
        if request is None and response is not None:
            self.request = getattr(response, "request", None)


class InvalidJSONError(RequestException):
    """What was given as JSON, or came as JSON, is none."""


class JSONDecodeError(InvalidJSONError, json.JSONDecodeError):
    """The body of a response is no JSON."""

    def __init__(self, *args, **kwargs):
        json.JSONDecodeError.__init__(self, *args)
        message = self.args
        InvalidJSONError.__init__(self, *message, **kwargs)

    def __reduce__(self):
        return json.JSONDecodeError.__reduce__(self)


class HTTPError(RequestException):
    """The server answered with a status that says it failed, see Response.raise_for_status."""


class ConnectionError(RequestException):
    """The host did not allow the request, or could not make it."""


class ProxyError(ConnectionError):
    """Proxies are not supported."""


class SSLError(ConnectionError):
    """A certificate is not valid."""


class Timeout(RequestException):
    """The request took too long."""


class ConnectTimeout(ConnectionError, Timeout):
    """There was no connection in time."""


class ReadTimeout(Timeout):
    """The response did not come in time."""


class URLRequired(RequestException):
    """There is no URL."""


class TooManyRedirects(RequestException):
    """The server redirects without end."""


class MissingSchema(RequestException, ValueError):
    """The URL does not say http:// or https://."""


class InvalidSchema(RequestException, ValueError):
    """The URL is neither for http nor for https."""


class InvalidURL(RequestException, ValueError):
    """The URL makes no sense."""


class InvalidHeader(RequestException, ValueError):
    """A header has a name or a value that headers cannot have."""


class ChunkedEncodingError(RequestException):
    """The response ended too early."""


class ContentDecodingError(RequestException):
    """The response cannot be decompressed."""


class StreamConsumedError(RequestException, TypeError):
    """The response was read before."""


class RequestsWarning(Warning):
    """Something is not as the program may expect."""
