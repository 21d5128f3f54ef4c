package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
)

// addresses is a resolver.
type addresses map[string][]string

func (r addresses) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	var out []netip.Addr
	for _, a := range r[host] {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host, Server: "10.9.8.7:53", IsNotFound: true}
	}
	return out, nil
}

func TestPrivateAddresses(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello from "+r.Host) })
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	dns := addresses{
		"inner.test": {"127.0.0.1"}, "mapped.test": {"::ffff:127.0.0.1"}, "meta.test": {"169.254.169.254"}, "none.test": {},
		"both.test": {"10.0.0.1", "127.0.0.1"}, "localhost": {"192.168.0.1"},
	}
	c := client(t, nil, Options{Resolver: dns}, "http://*.test:"+port, "http://localhost:"+port)
	for _, host := range []string{"inner.test", "mapped.test", "meta.test", "both.test", "localhost"} {
		_, _, err := c.do(t.Context(), request{URL: "http://" + host + ":" + port}, "")
		wantCode(t, err, hostfns.CodeDenied, "no public address", host)
		for _, a := range []string{"127.0.0.1", "169.254", "10.0.0", "192.168"} {
			if strings.Contains(err.Error(), a) {
				t.Errorf("the error has an address: %v", err)
			}
		}
	}
	_, _, err := c.do(t.Context(), request{URL: "http://none.test:" + port}, "")
	wantCode(t, err, hostfns.CodeServer, "none.test", "cannot be resolved")
	if strings.Contains(err.Error(), "10.9.8.7") {
		t.Errorf("the error names the resolver: %v", err)
	}

	c = client(t, nil, Options{Resolver: dns}, "private http://inner.test:"+port, "private http://meta.test:"+port)
	if _, body, err := c.do(t.Context(), request{URL: "http://inner.test:" + port}, ""); err != nil || body != "hello from inner.test:"+port {
		t.Errorf("%q, %v", body, err)
	}
	_, _, err = c.do(t.Context(), request{URL: "http://meta.test:" + port}, "")
	wantCode(t, err, hostfns.CodeDenied)

	// A literal address in a rule allows that address, and "*" none that is not public.
	c = client(t, srv, Options{Resolver: dns}, "http://HOST", "http://*:"+port)
	if _, _, err := c.do(t.Context(), request{URL: srv.URL}, ""); err != nil {
		t.Error(err)
	}
	for _, host := range []string{"127.0.0.2", "[::1]", "inner.test", "[::ffff:127.0.0.3]", "0.0.0.0", "[::]"} {
		_, _, err := c.do(t.Context(), request{URL: "http://" + host + ":" + port}, "")
		wantCode(t, err, hostfns.CodeDenied, "no public address")
	}
	// An allowed name does not carry over to another one: connections are kept by name.
	c = client(t, nil, Options{Resolver: dns}, "private http://inner.test:"+port, "http://*:"+port)
	if _, _, err := c.do(t.Context(), request{URL: "http://inner.test:" + port}, ""); err != nil {
		t.Error(err)
	}
	_, _, err = c.do(t.Context(), request{URL: "http://mapped.test:" + port}, "")
	wantCode(t, err, hostfns.CodeDenied)
}

// rebinding is a resolver whose answer changes with every question.
type rebinding struct {
	answers []string
	asked   atomic.Int32
}

func (r *rebinding) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	i := int(r.asked.Add(1)) - 1
	return []netip.Addr{netip.MustParseAddr(r.answers[min(i, len(r.answers)-1)])}, nil
}

func TestRebinding(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { t.Error("a request arrives") })
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	// The first answer is one that nobody is at: the connection goes there, or nowhere, and never to the second one.
	dns := &rebinding{answers: []string{"192.0.2.1", "127.0.0.1"}}
	c := client(t, nil, Options{Resolver: dns}, "http://rebind.test:"+port)
	for range 3 {
		_, _, err := c.do(t.Context(), request{URL: "http://rebind.test:" + port}, "")
		wantCode(t, err, hostfns.CodeDenied)
	}
	if dns.asked.Load() != 3 {
		t.Errorf("the resolver was asked %d times for 3 requests", dns.asked.Load())
	}
	// Whatever the resolver said, what the kernel is asked for is checked.
	d := &dialer{}
	if _, err := d.connect(t.Context(), "rebind.test", netip.MustParseAddr("127.0.0.1"), port, false); !errors.Is(err, errPrivate) {
		t.Errorf("connect: %v", err)
	}
}

func TestTLS(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = discard()
	srv.StartTLS()
	t.Cleanup(srv.Close)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	dns := addresses{"example.com": {"127.0.0.1"}, "other.test": {"127.0.0.1"}}
	c := client(t, nil, Options{Resolver: dns, RootCAs: roots}, "private https://*:"+port, "private http://*:"+port)
	h, body, err := c.do(t.Context(), request{URL: "https://example.com:" + port}, "")
	if err != nil || body != "HTTP/2.0" || h.Version != "2" || h.Reason != "OK" {
		t.Errorf("%+v, %q, %v", h, body, err)
	}
	_, _, err = c.do(t.Context(), request{URL: "https://other.test:" + port}, "")
	wantCode(t, err, hostfns.CodeServer, "certificate of other.test", "another name")
	h, _, err = c.do(t.Context(), request{URL: "http://example.com:" + port}, "")
	if err != nil || h.Status != 400 {
		t.Errorf("plain HTTP on a TLS port: %+v, %v", h, err)
	}
	c = client(t, nil, Options{Resolver: dns}, "private https://*:"+port)
	_, _, err = c.do(t.Context(), request{URL: "https://example.com:" + port}, "")
	wantCode(t, err, hostfns.CodeServer, "unknown authority")
}

func TestConnectionFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	c := client(t, nil, Options{Resolver: addresses{"inner.test": {"127.0.0.1", "127.0.0.2"}}}, "private http://inner.test:"+port)
	_, _, err = c.do(t.Context(), request{URL: "http://inner.test:" + port}, "")
	wantCode(t, err, hostfns.CodeServer, "no connection to inner.test", "refused")
	if strings.Contains(err.Error(), "127.0.0") {
		t.Errorf("the error has an address: %v", err)
	}
	var e *hostfns.Error
	if errors.As(err, &e); !e.Retryable {
		t.Error("a refused connection is not marked as retryable")
	}
}
