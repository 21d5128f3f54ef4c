"""Named secrets, which a program can pass on and not read."""

from mayfly import _host


def secret(name):
    """Returns a placeholder for the secret of this name. Where the secret may go, in tool arguments or HTTP headers, the host
    puts the real value in its place."""
    return _host.call("secrets.get", {"name": name})
