# expect: ok
import urllib.request

reached = []


def by_socket():
    import socket

    socket.create_connection(("127.0.0.1", 22), timeout=1)


def by_listen():
    import socket

    socket.socket().bind(("127.0.0.1", 0))


def by_name():
    import socket

    socket.getaddrinfo("localhost", 80)


def by_http():
    urllib.request.urlopen("http://127.0.0.1:80/", timeout=1)


def by_file():
    urllib.request.urlopen("file:///etc/passwd").read()


for attempt in (by_socket, by_listen, by_name, by_http, by_file):
    try:
        attempt()
        reached.append(attempt.__name__)
    except Exception as err:
        print(attempt.__name__, type(err).__name__)
assert not reached, reached
