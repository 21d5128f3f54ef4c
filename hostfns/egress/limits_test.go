package egress

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
)

func discard() *log.Logger { return log.New(io.Discard, "", 0) }

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

func TestDecompression(t *testing.T) {
	plain := bytes.Repeat([]byte("mayfly "), 100)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Asked", r.Header.Get("Accept-Encoding"))
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(zipped(plain))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(zipped(make([]byte, 64<<20)))
		case "/empty-members": // endless data that decompresses to nothing
			w.Header().Set("Content-Encoding", "gzip")
			one := zipped(nil)
			for r.Context().Err() == nil {
				if _, err := w.Write(one); err != nil {
					return
				}
			}
		case "/twice":
			w.Header().Set("Content-Encoding", "gzip, gzip")
			w.Write(zipped(zipped(plain)))
		case "/br":
			w.Header().Set("Content-Encoding", "br")
			w.Write([]byte("opaque"))
		case "/lie":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write([]byte("this is not gzip at all"))
		case "/damaged":
			w.Header().Set("Content-Encoding", "gzip")
			b := zipped(plain)
			b[len(b)/2] ^= 0xff
			w.Write(b)
		case "/short":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(zipped(plain)[:30])
		case "/nothing":
			w.Header().Set("Content-Encoding", "gzip")
		case "/part":
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(http.StatusPartialContent)
			w.Write(zipped(plain)[5:10])
		}
	})
	c := client(t, srv, Options{MaxResponse: 1 << 20}, "http://HOST")
	get := func(path string, headers ...[2]string) (*head, string, error) {
		return c.do(t.Context(), request{URL: srv.URL + path, Headers: headers}, "")
	}
	h, body, err := get("/gzip", [2]string{"Accept-Encoding", "br, identity"})
	if err != nil || body != string(plain) || h.get("X-Asked") != "gzip" || h.get("Content-Encoding") != "" {
		t.Errorf("%v %d bytes, %v", h, len(body), err)
	}
	for path, code := range map[string]string{
		"/bomb": hostfns.CodeTooLarge, "/empty-members": hostfns.CodeTooLarge, "/lie": hostfns.CodeServer, "/damaged": hostfns.CodeServer,
		"/short": hostfns.CodeServer,
	} {
		_, _, err := get(path)
		wantCode(t, err, code)
	}
	if h, body, err := get("/twice"); err != nil || body != string(zipped(zipped(plain))) || h.get("Content-Encoding") != "gzip, gzip" {
		t.Errorf("%v, %v", h, err)
	}
	if h, body, err := get("/br"); err != nil || body != "opaque" || h.get("Content-Encoding") != "br" {
		t.Errorf("%v, %v", h, err)
	}
	if _, body, err := get("/nothing"); err != nil || body != "" {
		t.Errorf("%q, %v", body, err)
	}
	h, body, err = get("/part", [2]string{"Range", "bytes=5-9"})
	if err != nil || body != string(zipped(plain)[5:10]) || h.get("X-Asked") != "" || h.get("Content-Encoding") != "gzip" {
		t.Errorf("%v %q, %v", h, body, err)
	}
	h, _, err = c.do(t.Context(), request{Method: "HEAD", URL: srv.URL + "/gzip"}, "")
	if err != nil || h.Status != 200 {
		t.Errorf("HEAD: %v, %v", h, err)
	}
}

// raw serves bytes as they are, to every connection, until the peer goes away.
func raw(t *testing.T, write func(w io.Writer, r *http.Request) error) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil && write(conn, r) == nil {
				io.Copy(io.Discard, conn)
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return "http://" + l.Addr().String()
}

var errClose = errors.New("close the connection")

func TestHostileResponses(t *testing.T) {
	flood := func(w io.Writer, line string) error {
		for {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
	}
	for _, tt := range []struct {
		name, code string
		write      func(w io.Writer, r *http.Request) error
	}{
		{"silence", hostfns.CodeTimeout, func(w io.Writer, _ *http.Request) error { return nil }},
		{"half a body", hostfns.CodeTimeout, func(w io.Writer, _ *http.Request) error {
			_, err := io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
			return err
		}},
		{"half a header", hostfns.CodeTimeout, func(w io.Writer, _ *http.Request) error {
			_, err := io.WriteString(w, "HTTP/1.1 200 OK\r\nX-Long: aaa")
			return err
		}},
		{"half a body, closed", hostfns.CodeServer, func(w io.Writer, _ *http.Request) error {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
			return errClose
		}},
		{"nothing, closed", hostfns.CodeServer, func(w io.Writer, _ *http.Request) error { return errClose }},
		{"nonsense", hostfns.CodeServer, func(w io.Writer, _ *http.Request) error {
			io.WriteString(w, "SSH-2.0-OpenSSH_9.9\r\n")
			return errClose
		}},
		{"endless body", hostfns.CodeTooLarge, func(w io.Writer, _ *http.Request) error {
			io.WriteString(w, "HTTP/1.1 200 OK\r\n\r\n")
			return flood(w, strings.Repeat("x", 4096))
		}},
		{"endless chunks", hostfns.CodeTooLarge, func(w io.Writer, _ *http.Request) error {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			return flood(w, "8\r\nabcdefgh\r\n")
		}},
		{"a size that is too large", hostfns.CodeTooLarge, func(w io.Writer, _ *http.Request) error {
			_, err := io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx")
			return err
		}},
		{"header flood", hostfns.CodeServer, func(w io.Writer, _ *http.Request) error {
			io.WriteString(w, "HTTP/1.1 200 OK\r\n")
			return flood(w, "X-Header: "+strings.Repeat("y", 100)+"\r\n")
		}},
		{"endless header", hostfns.CodeServer, func(w io.Writer, _ *http.Request) error {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nX-Header: ")
			return flood(w, strings.Repeat("y", 4096))
		}},
		{"interim flood", hostfns.CodeServer, func(w io.Writer, _ *http.Request) error {
			return flood(w, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
		}},
		{"another protocol", hostfns.CodeServer, func(w io.Writer, _ *http.Request) error {
			io.WriteString(w, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			return nil
		}},
		{"bad header", hostfns.CodeServer, func(w io.Writer, _ *http.Request) error {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nno colon\r\n\r\n")
			return errClose
		}},
		{"two lengths", hostfns.CodeServer, func(w io.Writer, _ *http.Request) error {
			io.WriteString(w, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx")
			return errClose
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := raw(t, tt.write)
			c := client(t, nil, Options{MaxResponse: 1 << 20, MaxHeader: 8 << 10}, base)
			r := request{URL: base}
			if tt.code == hostfns.CodeTimeout {
				r.Timeout = 0.05
			}
			_, _, err := c.do(t.Context(), r, "")
			wantCode(t, err, tt.code)
			if tt.code != hostfns.CodeTimeout && strings.Contains(err.Error(), "took longer") {
				t.Error(err)
			}
		})
	}
}

// What a header of a response has in it does not become another header in the guest.
func TestControlCharactersInHeaders(t *testing.T) {
	base := raw(t, func(w io.Writer, _ *http.Request) error {
		io.WriteString(w, "HTTP/1.1 200 O\rK\r\nX-A: b\rSet-Cookie: c\x01\x85\r\nContent-Length: 0\r\n\r\n")
		return errClose
	})
	h, _, err := client(t, nil, Options{}, base).do(t.Context(), request{URL: base}, "")
	if err != nil { // refused is as good
		wantCode(t, err, hostfns.CodeServer)
		return
	}
	for _, nv := range append(h.Headers, [2]string{"reason", h.Reason}) {
		if strings.ContainsAny(nv[0]+nv[1], "\r\n\x01") {
			t.Errorf("%q", nv)
		}
	}
	if h.get("Set-Cookie") != "" {
		t.Errorf("headers %q", h.Headers)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	arrived := make(chan struct{}, 10)
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	c := client(t, srv, Options{MaxConcurrent: 1}, "http://HOST")
	_, _, err := c.do(t.Context(), request{URL: srv.URL, Timeout: 0.02}, "")
	wantCode(t, err, hostfns.CodeTimeout, "took longer than 20ms")
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	for len(arrived) > 0 {
		<-arrived
	}
	go func() {
		_, _, err := c.do(ctx, request{URL: srv.URL}, "")
		first <- err
	}()
	<-arrived
	// The only slot is taken.
	_, _, err = c.do(t.Context(), request{URL: srv.URL, Timeout: 0.02}, "")
	wantCode(t, err, hostfns.CodeTimeout)
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled request: %v", err)
	}
	for _, timeout := range []string{"1e300", "-1", "0", "1e-300"} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		args := fmt.Sprintf(`{"url": %q, "timeout": %s}`, srv.URL, timeout)
		if _, err := c.request(ctx, &hostfns.FunctionCall{Args: []byte(args)}); !errors.Is(err, context.Canceled) {
			t.Errorf("timeout %s: %v", timeout, err)
		}
	}
}
