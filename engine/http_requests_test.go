package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/egress"
)

func TestRequests(t *testing.T) {
	httpExec(t, `
import io, json, requests
from requests.auth import HTTPBasicAuth
assert requests.__version__.endswith("+mayfly") and "not that package" in requests.__doc__

r = requests.get(BASE + "/a b?x=1", params={"q": "ü &", "l": [1, 2], "n": None}, headers={"X-A": "1", "User-Agent": None}, timeout=(5, 15))
e = r.json()
assert r.status_code == 200 and r.ok and r and r.reason == "OK" and r.status_code == requests.codes.ok == requests.codes["OK"]
assert e["path"] == "/a%20b?x=1&q=%C3%BC+%26&l=1&l=2" and r.url == BASE + e["path"], e
assert e["headers"]["X-A"] == ["1"] and e["headers"]["User-Agent"] == ["mayfly"]
assert r.headers["content-type"] == r.headers["Content-Type"] == "application/json" and "CONTENT-TYPE" in r.headers
assert r.history == [] and r.elapsed.total_seconds() > 0 and r.encoding == "utf-8" and repr(r) == "<Response [200]>"
assert json.loads(r.text) == json.loads(r.content) == e and r.request.method == "GET" and r.request.url == r.url

def body(**kwargs):
    e = requests.post(BASE, **kwargs).json()
    return e["body"], e["headers"].get("Content-Type", [None])[0]
assert body(data={"a": ["1", "2"], "b": "ü", "c": None}) == ("a=1&a=2&b=%C3%BC", "application/x-www-form-urlencoded")
assert body(data=[("a", 1), ("a", 2)]) == ("a=1&a=2", "application/x-www-form-urlencoded")
assert body(data="text ü") == ("text ü", None) and body(data=b"bytes") == ("bytes", None)
assert body(json={"a": [1, None]}) == ('{"a": [1, null]}', "application/json") and body(json=[]) == ("[]", "application/json")
assert body(json={"a": 1}, headers={"content-type": "text/x"}) == ('{"a": 1}', "text/x")
assert body(data=io.BytesIO(b"file")) == ("file", None) and body(data=(c for c in (b"a", "b"))) == ("ab", None)
assert body() == ("", None)
with open("f.txt", "w") as f:
    f.write("content")
with open("f.txt", "rb") as f:
    text, kind = body(files={"one": f, "two": ("n\"m.csv", "a,b", "text/csv", {"X-P": "1"}), "three": b"3"}, data={"k": "v"})
boundary = kind.removeprefix("multipart/form-data; boundary=")
assert text.split("--" + boundary) == [
    "", '\r\nContent-Disposition: form-data; name="k"\r\n\r\nv\r\n',
    '\r\nContent-Disposition: form-data; name="one"; filename="f.txt"\r\n\r\ncontent\r\n',
    '\r\nContent-Disposition: form-data; name="two"; filename="n%22m.csv"\r\nContent-Type: text/csv\r\nX-P: 1\r\n\r\na,b\r\n',
    '\r\nContent-Disposition: form-data; name="three"; filename="three"\r\n\r\n3\r\n', "--\r\n",
], text
for method in "get", "post", "put", "patch", "delete", "options":
    assert getattr(requests, method)(BASE).json()["method"] == method.upper()
r = requests.head(BASE + "/lines")
assert r.content == b"" and r.headers["Content-Length"] == "14"
assert requests.request("propfind", BASE).json()["method"] == "PROPFIND"

basic = ["Basic bWU6cGHDnw=="]
assert requests.get(BASE, auth=("me", "paß".encode())).json()["headers"]["Authorization"] == basic
assert requests.get(BASE, auth=HTTPBasicAuth("me", "p€")).json()["headers"]["Authorization"] == ["Basic bWU6cOKCrA=="]
assert requests.get(BASE.replace("://", "://me:pa%73@")).json()["headers"]["Authorization"] == ["Basic bWU6cGFz"]
class Token(requests.auth.AuthBase):
    def __call__(self, r):
        r.headers["X-Token"] = "t"
        return r
assert requests.get(BASE, auth=Token()).json()["headers"]["X-Token"] == ["t"]

r = requests.get(BASE + "/lines", stream=True)
assert list(r.iter_lines()) == [b"one", b"two", b"three"] and list(r.iter_content(6)) == [b"one\ntw", b"o\r\nthr", b"ee"]
assert list(r.iter_content(None)) == [r.content] and r.raw.read(3) == b"one" and b"".join(r.raw.stream(2)) == b"\ntwo\r\nthree"
r = requests.get(BASE + "/latin1")
assert r.encoding == "ISO-8859-1" and r.text == "café"
r.encoding = "nonsense"
assert r.text == "caf\ufffd"
assert len(requests.get(BASE + "/big").content) == 3_000_000
r = requests.get(BASE + "/link")
assert r.links == {"next": {"url": "https://a.test/2", "rel": "next"}, "last": {"url": "https://a.test/9", "rel": "last"}}, r.links
`)
}

func TestRequestsErrors(t *testing.T) {
	httpExec(t, `
import json, requests, warnings
from requests.exceptions import *
def raises(kind, f, *parts):
    try:
        f()
    except kind as exc:
        assert isinstance(exc, RequestException) and all(p in str(exc) for p in parts), (type(exc), exc)
        return exc
    assert False, f"{kind} is not raised"
for code in 404, 503:
    r = requests.get(f"{BASE}/status/{code}")
    assert not r.ok and not r and r.text == f"status {code}"
    exc = raises(HTTPError, r.raise_for_status, f"{code} ", f"/status/{code}")
    assert exc.response is r and exc.request is r.request
requests.get(BASE).raise_for_status()
exc = raises(JSONDecodeError, requests.get(BASE + "/lines").json, "Expecting value")
assert isinstance(exc, json.JSONDecodeError) and isinstance(exc, ValueError) and exc.pos == 0
raises(MissingSchema, lambda: requests.get("example.com/x"), "Perhaps you meant https://example.com/x?")
raises(InvalidSchema, lambda: requests.get("ftp://example.com"))
raises(InvalidURL, lambda: requests.get("http://"))
raises(InvalidURL, lambda: requests.get("http://[::1/"))
raises(InvalidURL, lambda: requests.get("http://127.1/"), "four decimal numbers")
raises(InvalidHeader, lambda: requests.get(BASE, headers={"X": "a\r\nb: c"}))
raises(InvalidHeader, lambda: requests.get(BASE, headers={"X": 1}))
raises(InvalidJSONError, lambda: requests.post(BASE, json=float("nan")))
exc = raises(Timeout, lambda: requests.get(BASE + "/slow", timeout=0.05), "took longer than 50ms")
assert isinstance(exc, ReadTimeout)
raises(TooManyRedirects, lambda: requests.get(BASE + "/loop"), "30")
exc = raises(ConnectionError, lambda: requests.delete("https://other.test/x?secret"), '--allow-http "DELETE https://other.test/"')
assert exc.code == "denied" and exc.hint and exc.request.method == "DELETE"
raises(ConnectionError, lambda: requests.get(BASE + "/redirect/302?to=http://169.254.169.254/"), "169.254.169.254")
raises(InvalidSchema, lambda: requests.get(BASE + "/redirect/302?to=file:///etc/passwd"))
assert requests.ConnectionError is ConnectionError and requests.exceptions.RequestException is requests.RequestException
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    requests.get(BASE, verify=False)
    assert "verified always" in str(caught[0].message) and caught[0].filename == "<input>" or caught, caught
    requests.packages.urllib3.disable_warnings()
    requests.get(BASE, verify=False)
    assert len(caught) == 1
`)
}

func TestRequestsSession(t *testing.T) {
	httpExec(t, `
import requests
s = requests.Session()
s.headers.update({"X-S": "1", "X-T": "2"})
s.params = {"p": "1"}
s.auth = ("u", "p")
e = s.get(BASE, headers={"x-t": "3"}, params={"q": "2"}).json()
assert e["headers"]["X-S"] == ["1"] and e["headers"]["X-T"] == ["3"] and e["path"] == "/?p=1&q=2" and "Authorization" in e["headers"], e
e = s.get(BASE, headers={"X-S": None}, params={"p": None}, auth=("v", "q")).json()
assert "X-S" not in e["headers"] and e["path"] == "/" and e["headers"]["Authorization"] == ["Basic djpx"], e
r = s.get(BASE + "/cookies")
assert r.cookies["a"] == "1" and s.cookies.get_dict() == {"a": "1", "b": "2"} and dict(r.cookies) == {"a": "1", "b": "2"}
assert s.get(BASE).json()["headers"]["Cookie"] == ["a=1; b=2"]
assert sorted(s.get(BASE, cookies={"c": "3"}).json()["headers"]["Cookie"][0].split("; ")) == ["a=1", "b=2", "c=3"]
assert s.get(BASE).json()["headers"]["Cookie"] == ["a=1; b=2"]
s.cookies.set("d", "4", domain="other.test")
s.cookies.update({"e": "5"})
del s.cookies["a"]
assert s.cookies["e"] == "5" and "a" not in s.cookies and s.get(BASE).json()["headers"]["Cookie"] in (["b=2; e=5"], ["e=5; b=2"])
s.cookies.clear()
assert "Cookie" not in s.get(BASE).json()["headers"]
assert requests.get(BASE, cookies={"x": "y"}).json()["headers"]["Cookie"] == ["x=y"]
seen = []
s.hooks["response"].append(lambda r, **kw: seen.append(r.status_code))
s.get(BASE + "/status/204")
requests.get(BASE + "/status/404", hooks={"response": lambda r, *a, **kw: seen.append(r.status_code)})
assert seen == [204, 404]
p = s.prepare_request(requests.Request("POST", BASE, json=1))
p.headers["X-P"] = "1"
e = s.send(p, timeout=20).json()
assert e["body"] == "1" and e["headers"]["X-P"] == ["1"]
s.mount("https://", requests.adapters.HTTPAdapter(max_retries=3))
assert s.get_adapter("https://x.test").max_retries == 3
with requests.session() as s:
    s.verify = True
    assert s.get(BASE).ok
`)
}

func TestRequestsRedirects(t *testing.T) {
	// Another server on the same machine is another host: it has another port.
	other := httptest.NewServer(http.HandlerFunc(echo))
	defer other.Close()
	srv := echoServer(t)
	h := httpHost(t, egress.Options{}, "* "+srv.URL, "* "+other.URL)
	execAt(t, h, srv.URL, fmt.Sprintf(`
OTHER = %q
import requests
def go(method, code, to="", **kwargs):
    return requests.request(method, f"{BASE}/redirect/{code}?to={to}", **kwargs)
for code, method, want in (
    (301, "GET", "GET"), (301, "POST", "GET"), (301, "PUT", "PUT"), (302, "POST", "GET"), (302, "PUT", "GET"), (302, "HEAD", "HEAD"),
    (303, "PUT", "GET"), (303, "DELETE", "GET"), (307, "POST", "POST"), (308, "PUT", "PUT"),
):
    r = go(method, code, json={"a": 1})
    assert r.url == BASE + "/landed" and [h.status_code for h in r.history] == [code] and r.request.method == want, (code, method, r.url)
    if method == "HEAD":
        continue
    e = r.json()
    kept = code in (307, 308)
    assert e["method"] == want and (e["body"] == '{"a": 1}') == kept and ("Content-Type" in e["headers"]) == kept, e
r = go("GET", 302, allow_redirects=False)
assert r.status_code == 302 and r.is_redirect and r.headers["Location"] == "/landed" and r.history == []
assert requests.head(BASE + "/redirect/302").status_code == 302

e = go("GET", 302, auth=("u", "p"), headers={"X-A": "1"}, cookies={"c": "1"}).json()
assert e["headers"]["X-A"] == ["1"] and "Authorization" in e["headers"] and e["headers"]["Cookie"] == ["c=1"], e
r = go("GET", 302, OTHER + "/there%%23frag", auth=("u", "p"), headers={"X-A": "1"}, cookies={"c": "1"})
e = r.json()
assert r.url.startswith(OTHER) and "Authorization" not in e["headers"] and "Cookie" not in e["headers"] and e["headers"]["X-A"] == ["1"], e
r = requests.get(BASE + "/redirect/302?to=/redirect/301#part")
assert r.url == BASE + "/landed#part" and len(r.history) == 2 and r.history[0].history == []
s = requests.Session()
s.max_redirects = 1
try:
    s.get(BASE + "/redirect/302?to=/redirect/301")
except requests.TooManyRedirects as exc:
    assert exc.response.status_code == 301
else:
    assert False
`, other.URL))
}

// TestRequestsGivesWay: a package of this name that is the program's own, or in /packages, is found first.
func TestRequestsGivesWay(t *testing.T) {
	s := newSession(t, nil)
	want(t, s, "import os; os.mkdir('requests'); import requests; requests.__version__[-7:]", "'+mayfly'")
	s = newSession(t, nil)
	want(t, s, "open('requests.py', 'w').write('x = 1'); import requests; requests.x", "1")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "requests"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"__init__.py": "from . import sessions", "sessions.py": "mine = True"} {
		if err := os.WriteFile(filepath.Join(dir, "requests", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = newSession(t, &engine.Sandbox{Mounts: []engine.Mount{{Host: dir, Guest: "/packages"}}})
	want(t, s, "import requests; requests.sessions.mine", "True")
	r := exec(t, s, "import requests.adapters")
	if r.Status != engine.StatusError || r.Error.Type != "ModuleNotFoundError" {
		t.Errorf("a module of ours is found in a package that is not: %s", describe(r))
	}
}

// TestURLLib3: packages that come to http.client by a way of their own, and without TLS, work as well.
func TestURLLib3(t *testing.T) {
	httpExec(t, `
import json, os, sys
os.mkdir("urllib3")
open("urllib3/__init__.py", "w").close()
with open("urllib3/connection.py", "w") as f:
    f.write("""
import http.client, socket
class DummyConnection: pass
class HTTPConnection(http.client.HTTPConnection):
    def __init__(self, host, port=None, *, timeout=None, blocksize=16384):
        super().__init__(host, port, timeout, blocksize=blocksize)
    def _new_conn(self):
        return socket.create_connection((self.host, self.port))
    def connect(self):
        self.sock = self._new_conn()
HTTPSConnection = DummyConnection
""")
from urllib3.connection import HTTPConnection, HTTPSConnection, VerifiedHTTPSConnection
host, _, port = BASE.removeprefix("http://").partition(":")
c = HTTPConnection(host, int(port), timeout=20)
for i in range(2):
    c.request("POST", "/x", b"body")
    assert c.is_connected and json.load(c.getresponse())["body"] == "body"
c = HTTPSConnection("other.test", assert_hostname=False, blocksize=1000)
c.set_cert(ca_certs="x")
c.request("GET", "/")
assert c.is_verified and c.port == 443 and HTTPSConnection is VerifiedHTTPSConnection
try:
    c.getresponse()
except PermissionError as exc:
    assert '--allow-http "https://other.test/"' in str(exc), exc
else:
    assert False
`)
}
