package egress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/hostfns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client with rules in which HOST stands for the server's address.
func client(t *testing.T, srv *httptest.Server, o Options, rules ...string) *Client {
	t.Helper()
	for _, text := range rules {
		if srv != nil {
			text = strings.ReplaceAll(text, "HOST", srv.Listener.Addr().String())
		}
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Rules = append(o.Rules, r)
	}
	c, err := New(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

type request struct {
	Method  string      `json:"method,omitempty"`
	URL     string      `json:"url"`
	Headers [][2]string `json:"headers,omitempty"`
	Timeout float64     `json:"timeout,omitempty"`
}

func (c *Client) do(ctx context.Context, r request, body string) (*head, string, error) {
	a, err := json.Marshal(r)
	if err != nil {
		return nil, "", err
	}
	v, err := c.Functions()[FnRequest](ctx, &hostfns.FunctionCall{Name: FnRequest, Args: a, Body: []byte(body)})
	if err != nil {
		return nil, "", err
	}
	h := &head{}
	if v.Kind != hostfns.ValueBytes {
		return nil, "", fmt.Errorf("kind %s", v.Kind)
	}
	return h, string(v.Data), json.Unmarshal(v.Head, h)
}

func (h *head) get(name string) string {
	for _, nv := range h.Headers {
		if nv[0] == name {
			return nv[1]
		}
	}
	return ""
}

func wantCode(t *testing.T, err error, code string, parts ...string) {
	t.Helper()
	var e *hostfns.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("error %v, want code %s", err, code)
	}
	for _, p := range parts {
		if !strings.Contains(e.Message+"\n"+e.Hint, p) {
			t.Errorf("error %q, hint %q; want %q in it", e.Message, e.Hint, p)
		}
	}
}

func TestRequest(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.Header().Set("X-Name", "J\xfcrgen")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %q %q %q %q", r.Method, r.RequestURI, b, r.Header["X-A"], r.Header.Get("X-N"), r.UserAgent(), r.Header["Content-Length"])
	})
	c := client(t, srv, Options{}, "POST http://HOST/a")
	if _, _, err := c.do(t.Context(), request{Method: "post", URL: srv.URL + "/a/b%2fc"}, ""); err == nil {
		t.Error("an encoded slash is allowed under a prefix")
	}
	h, body, err := c.do(t.Context(), request{Method: "post", URL: srv.URL + "/a/./b?d=e f#g", Headers: [][2]string{
		{"X-A", "1"}, {"x-a", " 2 "}, {"X-N", "é"}, {"Content-Length", "4"}, {"Host", srv.Listener.Addr().String()}, {"expect", "100-continue"},
	}}, "body")
	if err != nil {
		t.Fatal(err)
	}
	if want := `POST /a/b?d=e%20f body ["1" "2"] "\xe9" "mayfly" ["4"]`; body != want {
		t.Errorf("the server says %s, want %s", body, want)
	}
	if h.Status != 418 || h.Reason != "I'm a teapot" || h.Version != "1.1" || h.URL != srv.URL+"/a/b?d=e%20f" {
		t.Errorf("head %+v", h)
	}
	if h.get("X-Name") != "Jürgen" || h.get("Keep-Alive") != "" || h.get("Content-Length") != fmt.Sprint(len(body)) {
		t.Errorf("headers %q", h.Headers)
	}
	var cookies []string
	for _, nv := range h.Headers {
		if nv[0] == "Set-Cookie" {
			cookies = append(cookies, nv[1])
		}
	}
	if strings.Join(cookies, " ") != "a=1 b=2" {
		t.Errorf("cookies %q", cookies)
	}
}

func TestMethods(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Method", r.Method)
		w.Header().Set("X-Length", r.Header.Get("Content-Length"))
		io.WriteString(w, "12345")
	})
	c := client(t, srv, Options{}, "* http://HOST")
	for _, m := range []string{"", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"} {
		h, body, err := c.do(t.Context(), request{Method: m, URL: srv.URL}, "")
		if err != nil {
			t.Fatal(err)
		}
		want := m
		if m == "" {
			want = "GET"
		}
		if h.get("X-Method") != want || h.get("Content-Length") != "5" || (body == "12345") == (m == "HEAD") {
			t.Errorf("%s: %v %q", m, h, body)
		}
	}
	for _, m := range []string{"CONNECT", "TRACE", "GET /", "GET\r\nX: y", "ſET", strings.Repeat("A", 100)} {
		_, _, err := c.do(t.Context(), request{Method: m, URL: srv.URL}, "")
		wantCode(t, err, hostfns.CodeRequest)
	}
}

func TestDenied(t *testing.T) {
	for _, c := range []*Client{client(t, nil, Options{}), client(t, nil, Options{}, "other.example")} {
		_, _, err := c.do(t.Context(), request{Method: "POST", URL: "https://user.example/x?token=1"}, "")
		wantCode(t, err, hostfns.CodeDenied, `no rule allows POST https://user.example/x`, `--allow-http "POST https://user.example/"`)
		if strings.Contains(err.Error(), "token") || strings.Contains(err.Error(), "other.example") {
			t.Errorf("the error tells too much: %v", err)
		}
	}
	c := client(t, nil, Options{}, "api.example/v1", "GET http://[::1]:8080")
	_, _, err := c.do(t.Context(), request{URL: "https://api.example/v2"}, "")
	wantCode(t, err, hostfns.CodeDenied, "what is allowed of this host: GET https://api.example/v1", `--allow-http "https://api.example/"`)
	_, _, err = c.do(t.Context(), request{URL: "https://api.example/v1/%2e%2e%2f"}, "")
	wantCode(t, err, hostfns.CodeDenied, "more ways than one")
	_, _, err = c.do(t.Context(), request{Method: "PUT", URL: "http://[::1]:8080"}, "")
	wantCode(t, err, hostfns.CodeDenied, `--allow-http "PUT http://[::1]:8080/"`)
}

func TestBadRequests(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("a request arrives: %v", r) })
	c := client(t, srv, Options{MaxRequest: 10, MaxHeader: 1000}, "GET,POST http://HOST")
	for _, h := range [][2]string{
		{"Host", "evil.test"}, {"host", "127.0.0.1"}, {"Host", "user@" + srv.Listener.Addr().String()}, {"Connection", "close"},
		{"Connection", "X-A"}, {"Keep-Alive", "1"}, {"TE", "trailers"}, {"Trailer", "X"}, {"Transfer-Encoding", "chunked"},
		{"transfer-encoding", "identity"}, {"Upgrade", "h2c"}, {"HTTP2-Settings", "x"}, {"Proxy-Authorization", "x"}, {"proxy-anything", "x"},
		{"X-Original-URL", "/admin"}, {"X-Rewrite-Url", "/admin"}, {"", "x"}, {"X A", "x"}, {"X:A", "x"}, {"X\r\nA", "x"}, {":path", "/"},
		{"X-ü", "x"}, {"X", "a\r\nY: b"}, {"X", "a\nb"}, {"X", "a\x00b"}, {"X", "a\x7fb"}, {"X", "€"}, {"Content-Length", "1"},
		{"Content-Length", "-1"}, {"Content-Length", "0x0"}, {"X", strings.Repeat("a", 1000)},
	} {
		_, _, err := c.do(t.Context(), request{URL: srv.URL, Headers: [][2]string{h}}, "")
		var e *hostfns.Error
		if !errors.As(err, &e) || e.Code != hostfns.CodeRequest {
			t.Errorf("header %q: %v", h, err)
		}
	}
	_, _, err := c.do(t.Context(), request{URL: srv.URL, Headers: make([][2]string, maxHeaders+1)}, "")
	wantCode(t, err, hostfns.CodeRequest, "headers")
	_, _, err = c.do(t.Context(), request{Method: "POST", URL: srv.URL}, "12345678901")
	wantCode(t, err, hostfns.CodeTooLarge, "11 bytes")
	for _, name := range []string{"X-HTTP-Method-Override", "x-http-method", "X-Method-Override"} {
		_, _, err = c.do(t.Context(), request{Method: "POST", URL: srv.URL, Headers: [][2]string{{name, "delete"}}}, "")
		wantCode(t, err, hostfns.CodeDenied, "DELETE")
	}
	for _, args := range []string{``, `null`, `[]`, `{"url": 1}`, `{"url": "x", "headers": {}}`, `{"url":"http://a","headers":[["a"`} {
		_, err := c.request(t.Context(), &hostfns.FunctionCall{Args: json.RawMessage(args)})
		wantCode(t, err, hostfns.CodeRequest)
	}
}

func TestRedirectIsReturned(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			t.Error("the redirect was followed")
		}
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
	})
	c := client(t, srv, Options{}, "http://HOST", "http://metadata.test")
	h, _, err := c.do(t.Context(), request{URL: srv.URL}, "")
	if err != nil || h.Status != 302 {
		t.Fatal(h, err)
	}
	_, _, err = c.do(t.Context(), request{URL: h.get("Location")}, "")
	wantCode(t, err, hostfns.CodeDenied, `--allow-http "http://169.254.169.254/"`)
}

func TestConnectionsAreReused(t *testing.T) {
	var conns int
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns++
		}
	}
	srv.Start()
	c := client(t, srv, Options{}, "http://HOST")
	for range 5 {
		if _, _, err := c.do(t.Context(), request{URL: srv.URL}, ""); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	srv.Close()
	if conns != 1 {
		t.Errorf("%d connections for 5 requests", conns)
	}
}

// The host's environment is none of the guest's.
func TestNoProxy(t *testing.T) {
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("the proxy of the environment is used") })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	c := client(t, nil, Options{Resolver: addresses{"example.test": {"192.168.1.1"}}}, "http://example.test")
	_, _, err := c.do(t.Context(), request{URL: "http://example.test"}, "")
	wantCode(t, err, hostfns.CodeDenied)
}
