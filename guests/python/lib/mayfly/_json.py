"""JSON by the C parts of the json module alone, so that a program which patches that module does not change our answers."""

from json import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring

_join = "".join


def _refuse(value):
    raise TypeError(f"{type(value).__name__} is not JSON")


_markers = {}  # the containers that are being encoded, to find circles
_encode = c_make_encoder(_markers, _refuse, encode_basestring, None, ": ", ", ", False, False, False)
_scan = JSONDecoder().scan_once
_str = str


def encode(value):
    """Returns value as text. Raises TypeError or ValueError when it is not JSON, circular or has a NaN."""
    try:
        return _join(_encode(value, 0))
    except BaseException:
        _markers.clear()  # an encoder that fails leaves its containers there
        raise


def decode(data):
    """Returns the value of UTF-8 bytes that hold JSON, as the host writes it."""
    return _scan(_str(data, "utf-8"), 0)[0]
