"""Adapters exist so that programs can mount them; the host makes the requests in any case."""

DEFAULT_RETRIES = 0


class BaseAdapter:
    """What a session can have mounted."""

    def close(self):
        """Does nothing."""


class HTTPAdapter(BaseAdapter):
    """Keeps what it is given; retries and pools are the host's business."""

    def __init__(self, pool_connections=10, pool_maxsize=10, max_retries=DEFAULT_RETRIES, pool_block=False):
        self.max_retries = max_retries
