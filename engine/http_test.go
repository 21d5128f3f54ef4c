package engine_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/egress"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// httpHost returns a host that allows what the rules say; HOST stands for the server's address.
func httpHost(t testing.TB, o egress.Options, rules ...string) *hostfns.Host {
	t.Helper()
	for _, text := range rules {
		r, err := egress.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Rules = append(o.Rules, r)
	}
	c, err := egress.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	h, err := hostfns.New(&hostfns.Options{Functions: c.Functions(), Secrets: o.Secrets})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// echo answers with what it got, as JSON, at any path but the special ones.
func echo(w http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	switch {
	case strings.HasPrefix(r.URL.Path, "/status/"):
		var code int
		fmt.Sscanf(r.URL.Path, "/status/%d", &code)
		w.WriteHeader(code)
		fmt.Fprintf(w, "status %d", code)
		return
	case strings.HasPrefix(r.URL.Path, "/redirect/"):
		var code int
		fmt.Sscanf(r.URL.Path, "/redirect/%d", &code)
		to := r.URL.Query().Get("to")
		if to == "" {
			to = "/landed"
		}
		w.Header().Set("Location", to)
		w.WriteHeader(code)
		return
	case r.URL.Path == "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
		return
	case r.URL.Path == "/cookies":
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "1", Path: "/"})
		http.SetCookie(w, &http.Cookie{Name: "b", Value: "2", Path: "/", MaxAge: 1000})
	case r.URL.Path == "/big":
		w.Write([]byte(strings.Repeat("0123456789", 300_000)))
		return
	case r.URL.Path == "/lines":
		io.WriteString(w, "one\ntwo\r\nthree")
		return
	case r.URL.Path == "/latin1":
		w.Header().Set("Content-Type", "text/plain; charset=ISO-8859-1")
		w.Write([]byte("caf\xe9"))
		return
	case r.URL.Path == "/slow":
		<-r.Context().Done()
		return
	case r.URL.Path == "/link":
		w.Header().Set("Link", `<https://a.test/2>; rel="next", <https://a.test/9>; rel=last`)
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{
		"method": r.Method, "path": r.URL.RequestURI(), "headers": r.Header, "body": string(b), "host": r.Host,
	})
}

func echoServer(t testing.TB) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(srv.Close)
	return srv
}

// httpExec runs code that can use an echo server at BASE, and fails the test when the code does.
func httpExec(t *testing.T, code string) *engine.Result {
	t.Helper()
	srv := echoServer(t)
	return execAt(t, httpHost(t, egress.Options{}, "* "+srv.URL), srv.URL, code)
}

func execAt(t *testing.T, h *hostfns.Host, base, code string) *engine.Result {
	t.Helper()
	r := execRequest(t, newSession(t, nil), engine.Request{Host: h, Code: fmt.Sprintf("BASE = %q; %s", base, strings.TrimSpace(code))})
	if strings.Contains(r.Stderr, "Exception ignored") {
		t.Error(r.Stderr)
	}
	if r.Status != engine.StatusOK {
		t.Fatalf("%s\n%s", describe(r), r.Error.Traceback)
	}
	return r
}

func TestHTTPClient(t *testing.T) {
	httpExec(t, `
import http.client, io, json
c = http.client.HTTPConnection(BASE.removeprefix("http://"), timeout=20)
c.request("POST", "/a?b=%20c", body=b"data", headers={"X-A": "1"})
r = c.getresponse()
assert isinstance(r, http.client.HTTPResponse) and (r.status, r.reason, r.version) == (200, "OK", 11)
assert r.getheader("content-type") == r.msg["Content-Type"] == "application/json" and r.getheader("nope", 7) == 7
assert ("Content-Type", "application/json") in r.getheaders() and r.will_close is False and not r.isclosed()
first = r.read(5)
buffer = bytearray(7)
n = r.readinto(buffer)
e = json.loads(first + buffer[:n] + r.read())
assert (e["method"], e["path"], e["body"], e["headers"]["X-A"]) == ("POST", "/a?b=%20c", "data", ["1"]), e
assert r.isclosed() and r.read() == b""

# The same connection again, in pieces.
c.putrequest("PUT", "/p", skip_accept_encoding=True)
c.putheader("Content-Length", 6)
c.putheader("X-B", "1", 2)
c.endheaders()
c.send(b"abc")
c.send(io.BytesIO(b"def"))
with c.getresponse() as r:
    e = json.load(r)
assert (e["method"], e["body"], e["headers"]["X-B"]) == ("PUT", "abcdef", ["1 2"]), e

c.request("POST", "/", body=(x for x in [b"one", b"", b"two"]))  # chunked
assert json.load(c.getresponse())["body"] == "onetwo"
c.request("POST", "/", body=io.StringIO("text"))
assert json.load(c.getresponse())["body"] == "text"
c.putrequest("POST", "/"); c.putheader("Transfer-Encoding", "chunked"); c.endheaders([b"x" * 70000, b"y"], encode_chunked=True)
assert len(json.load(c.getresponse())["body"]) == 70001

c.request("GET", "/lines")
r = c.getresponse()
assert r.peek(3)[:3] == b"one" and r.readline() == b"one\n" and list(r) == [b"two\r\n", b"three"]
c.request("HEAD", "/lines")
r = c.getresponse()
assert r.read() == b"" and r.getheader("Content-Length") == "14", r.getheaders()
for code in 204, 304, 404, 503:
    c.request("GET", f"/status/{code}")
    r = c.getresponse()
    assert r.status == code and r.read() == (b"" if code < 400 else f"status {code}".encode())
c.request("GET", "/big")
r = c.getresponse()
assert r.length == 3_000_000 and sum(map(len, iter(lambda: r.read(100_000), b""))) == 3_000_000
c.request("GET", "/cookies")
assert c.getresponse().headers.get_all("Set-Cookie") == ["a=1; Path=/", "b=2; Path=/; Max-Age=1000"]
c.close()

try:
    c.set_tunnel("example.com")
except OSError as exc:
    assert "proxies" in str(exc), exc
else:
    assert False
for what in lambda: c.request("GET", "http://other.test/"), lambda: c.request("OPTIONS", "*"):
    c = http.client.HTTPConnection(BASE[7:])
    what()
    try:
        c.getresponse()
    except ConnectionError as exc:
        assert exc.code == "bad_request", exc
    else:
        assert False
c = http.client.HTTPConnection(BASE[7:])
c.request("GET", "/", headers={"Host": "other.test"})
try:
    c.getresponse()
except ConnectionError as exc:
    assert "Host" in str(exc), exc
else:
    assert False
c = http.client.HTTPConnection(BASE[7:], timeout=0.05)
c.request("GET", "/slow")
try:
    c.getresponse()
except TimeoutError as exc:
    assert exc.code == "timeout" and "50ms" in str(exc), exc
else:
    assert False
# A stand-in of the program's own is used.
class Fake:
    def sendall(self, data): self.sent = data
    def setsockopt(self, *a): pass
    def makefile(self, mode): return io.BytesIO(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfake")
    def close(self): pass
c = http.client.HTTPConnection("nowhere.test")
c._create_connection = lambda *a: Fake()
c.request("GET", "/")
assert c.getresponse().read() == b"fake"
`)
}

func TestURLLib(t *testing.T) {
	httpExec(t, `
import http.cookiejar, json, urllib.error, urllib.parse, urllib.request
with urllib.request.urlopen(BASE + "/x y".replace(" ", "%20"), timeout=20) as r:
    assert r.status == 200 and r.url == BASE + "/x%20y" and r.headers["Content-Type"] == "application/json"
    assert json.load(r)["headers"]["User-Agent"] == ["Python-urllib/3.13"]
form = urllib.parse.urlencode({"a": "ü&"}).encode()
e = json.load(urllib.request.urlopen(urllib.request.Request(BASE, form, {"X-A": "1"})))
assert e["method"] == "POST" and e["body"] == "a=%C3%BC%26" and e["headers"]["X-A"] == ["1"], e
assert json.load(urllib.request.urlopen(urllib.request.Request(BASE, b"x", method="PUT")))["method"] == "PUT"
for code in 301, 302, 303, 307, 308:
    with urllib.request.urlopen(f"{BASE}/redirect/{code}") as r:
        assert r.url == BASE + "/landed" and r.status == 200
try:
    urllib.request.urlopen(BASE + "/status/404")
except urllib.error.HTTPError as exc:
    assert exc.code == 404 and exc.read() == b"status 404" and exc.reason == "Not Found"
else:
    assert False
try:
    urllib.request.urlopen(BASE + "/loop")
except urllib.error.HTTPError as exc:
    assert "redirect" in str(exc)
else:
    assert False
jar = http.cookiejar.CookieJar()
opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
opener.open(BASE + "/cookies").read()
assert sorted(c.name for c in jar) == ["a", "b"]
assert json.load(opener.open(BASE))["headers"]["Cookie"] == ["a=1; b=2"]
assert urllib.request.HTTPSHandler in {type(h) for h in urllib.request.build_opener().handlers}
name, headers = urllib.request.urlretrieve(BASE + "/lines")
assert open(name, "rb").read() == b"one\ntwo\r\nthree"
try:
    urllib.request.urlopen(BASE + "/slow", timeout=0.05)
except TimeoutError as exc:
    assert "took longer" in str(exc)
else:
    assert False
for url, message in (
    ("https://other.test/x", '--allow-http "https://other.test/"'),
    (BASE + "/redirect/302?to=http://169.254.169.254/latest", '--allow-http "http://169.254.169.254/"'),
    (BASE.replace("127.0.0.1", "localhost"), "--allow-http"),
):
    try:
        urllib.request.urlopen(url)
    except urllib.error.URLError as exc:
        assert isinstance(exc.reason, PermissionError) and exc.reason.code == "denied" and message in str(exc), exc
    else:
        assert False, url
opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": "http://proxy.test:3128"}))
try:
    opener.open(BASE)
except urllib.error.URLError as exc:
    assert "proxies" in str(exc), exc
else:
    assert False
`)
}

// TestHTTPNotThere: a sandbox without HTTP says how to get it, in the error and as a hint.
func TestHTTPNotThere(t *testing.T) {
	empty, err := hostfns.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	const rule = `--allow-http "https://example.com/"`
	for name, h := range map[string]*hostfns.Host{"no host": nil, "a host without HTTP": empty} {
		for _, code := range []string{
			"import urllib.request; urllib.request.urlopen('https://example.com')",
			"import http.client; c = http.client.HTTPSConnection('example.com'); c.request('GET', '/'); c.getresponse()",
			"import requests; requests.get('https://example.com')",
		} {
			r := execRequest(t, newSession(t, nil), engine.Request{Host: h, Code: code})
			if r.Status != engine.StatusError || !strings.Contains(r.Error.Message, "this sandbox has no HTTP") ||
				!strings.Contains(r.Error.Message, rule) || !strings.Contains(r.Error.Hint, rule) || r.Error.Line != 1 {
				t.Errorf("%s: %s: %s, hint %q, line %d", name, code, describe(r), r.Error.Hint, r.Error.Line)
			}
		}
	}
}

// loopback resolves every name to this machine.
type loopback struct{}

func (loopback) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

func TestHTTPS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	h := httpHost(t, egress.Options{RootCAs: roots, Resolver: loopback{}}, "private https://*:"+port)
	execAt(t, h, "https://example.com:"+port, `
import http.client, json, requests, urllib.error, urllib.request
host = BASE.removeprefix("https://")
assert json.load(urllib.request.urlopen(BASE + "/x"))["host"] == host
c = http.client.HTTPSConnection(host)
c.request("GET", "/")
assert json.load(c.getresponse())["host"] == host
assert requests.get(BASE).json()["host"] == host
wrong = BASE.replace("example.com", "wrong.test")
try:
    urllib.request.urlopen(wrong)
except urllib.error.URLError as exc:
    assert "certificate of wrong.test" in str(exc), exc
else:
    assert False
try:
    requests.get(wrong)
except requests.exceptions.SSLError as exc:
    assert "another name" in str(exc), exc
else:
    assert False
`)
}

// TestHTTPConcurrent: requests of threads run at the same time. The server answers when all have arrived.
func TestHTTPConcurrent(t *testing.T) {
	const n = 8
	var arrived atomic.Int32
	all := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
			io.WriteString(w, r.URL.Path)
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	execAt(t, httpHost(t, egress.Options{}, srv.URL), srv.URL, `
import requests, urllib.request
from concurrent.futures import ThreadPoolExecutor
def one(i):
    if i % 2:
        return requests.get(f"{BASE}/{i}").text
    return urllib.request.urlopen(f"{BASE}/{i}").read().decode()
with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(one, range(8))) == [f"/{i}" for i in range(8)]
`)
}

func TestHTTPSecrets(t *testing.T) {
	const value = "s3cret&value=ü"
	var got atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		user, password, _ := r.BasicAuth()
		got.Store([]string{r.Header.Get("X-Key"), r.URL.Query().Get("key"), string(b), user, password})
		w.Header().Set("X-Echo", r.Header.Get("X-Key"))
		w.Header().Set("Location", "/?key="+url.QueryEscape(value))
		fmt.Fprintf(w, "%s %s %s %s", value, r.Header.Get("Authorization"), r.URL.RawQuery, b)
	}))
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	set, err := secrets.New(t.Context(), []secrets.Spec{
		{Name: "key", Value: value, Allow: []string{"http:" + addr}}, {Name: "other", Value: "another-secret"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := httpHost(t, egress.Options{Secrets: set}, "* "+srv.URL)
	execAt(t, h, srv.URL, `
import json, requests
r = requests.post(BASE, params={"key": "{{secret:key}}"}, json={"a": "{{secret:key}}"}, headers={"X-Key": "{{secret:key}}"},
                  auth=("me", "{{secret:key}}"), allow_redirects=False)
for text in r.text, json.dumps(dict(r.headers)), r.url, repr(r.request.headers):
    assert "s3cret" not in text and "czNjcmV0" not in text, text
assert r.headers["X-Echo"] == "{{secret:key}}" and r.text.startswith("{{secret:key}} Basic "), r.text
`)
	want := []string{"s3cret&value=\xc3\xbc", value, `{"a": "` + value + `"}`, "me", value}
	if s := got.Load().([]string); strings.Join(s, "|") != strings.Join(want, "|") {
		t.Errorf("the server got %q, want %q", s, want)
	}
	execAt(t, h, srv.URL, `
import requests
requests.post(BASE, data={"k": "{{secret:key}}"})
try:
    requests.get(BASE, headers={"X": "{{secret:other}}"})
except requests.ConnectionError as exc:
    assert exc.code == "denied" and "other" in str(exc), exc
else:
    assert False
`)
	if s := got.Load().([]string); s[2] != "k="+url.QueryEscape(value) {
		t.Errorf("the server got the form %q", s[2])
	}
}

// TestHTTPReplay: in a durable session that is run again, responses come from the journal.
func TestHTTPReplay(t *testing.T) {
	var calls atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "answer %d", calls.Add(1)) }))
	defer srv.Close()
	h := httpHost(t, egress.Options{}, srv.URL)
	d := newDurable(t, func(o *engine.Options) { o.Host = h })
	s := d.session("demo", nil)
	exec(t, s, fmt.Sprintf("import requests, urllib.request; BASE = %q", srv.URL))
	want(t, s, "a = requests.get(BASE).text, urllib.request.urlopen(BASE).read(); a", "('answer 1', b'answer 2')")
	v := d.verify("demo")
	if !v.OK || v.Executed != 2 || v.Identical != 2 || calls.Load() != 2 {
		t.Errorf("%+v, %v, %d requests", v, v.Divergence, calls.Load())
	}
}
