package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bounds of HTTP.
const (
	maxHeaders    = 256 << 10
	maxErrorBody  = 1 << 20
	replyTimeout  = 30 * time.Second // for a server to take an answer to its own request
	deleteTimeout = 2 * time.Second  // for a server to take that a session ends
)

// endpoint is a server that is reached over HTTP. It is the http.RoundTripper of the SDK's transports.
type endpoint struct {
	url     *url.URL
	headers http.Header
	in      *intake
	base    *http.Transport
}

func newEndpoint(s *Server, in *intake) (*endpoint, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		// The error repeats the URL, which may have a secret.
		return nil, errors.New("url: it is no valid URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, errors.New("url: it has to begin with http:// or https:// and have a host")
	}
	e := &endpoint{url: u, headers: http.Header{}, in: in}
	for name, value := range s.Headers {
		if strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("headers.%s: it has a line break", name)
		}
		e.headers.Set(name, value)
	}
	if u.User != nil && e.headers.Get("Authorization") == "" {
		password, _ := u.User.Password()
		r := http.Request{Header: e.headers}
		r.SetBasicAuth(u.User.Username(), password)
	}
	u.User = nil
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		e.base = t.Clone()
	} else { // somebody replaced it
		e.base = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	}
	e.base.MaxResponseHeaderBytes = maxHeaders
	return e, nil
}

func (e *endpoint) client() *http.Client {
	return &http.Client{Transport: e, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if err := e.check(r.URL); err != nil {
			return err
		}
		if len(via) >= 5 {
			return errors.New("there are too many redirects")
		}
		return nil
	}}
}

// check refuses other hosts: headers and arguments are for the server that the configuration names.
func (e *endpoint) check(u *url.URL) error {
	if u.Hostname() == e.url.Hostname() {
		if u.Scheme == e.url.Scheme && portOf(u) == portOf(e.url) {
			return nil
		}
		if u.Scheme == "https" && portOf(u) == "443" && e.url.Scheme == "http" && portOf(e.url) == "80" {
			return nil
		}
	}
	return fmt.Errorf("%w, to %.200s; if that is meant, change the url in the configuration", errOtherHost, u.Scheme+"://"+u.Host)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// RoundTrip implements http.RoundTripper.
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := e.check(r.URL); err != nil {
		return nil, err
	}
	x := exchangeOf(r.Context())
	isReply, request := false, ""
	if r.Method == http.MethodPost && r.GetBody != nil {
		scan := &idScanner{}
		body, err := r.GetBody()
		if err == nil {
			var b bytes.Buffer
			_, err = b.ReadFrom(body)
			scan.feed(b.Bytes())
			_ = body.Close()
		}
		if err != nil {
			return nil, err
		}
		isReply = !scan.method
		if id, ok := canonicalID(scan.id); ok && scan.method {
			if request = id; x != nil {
				e.in.expect(id, x)
			}
		}
	}
	ctx, cancel := r.Context(), context.CancelFunc(func() {})
	switch {
	case isReply:
		defer e.in.replied()
		ctx, cancel = context.WithTimeout(ctx, replyTimeout)
	case r.Method == http.MethodDelete:
		ctx, cancel = context.WithTimeout(ctx, deleteTimeout)
	}
	r = r.Clone(ctx)
	for name, values := range e.headers {
		if name == "Host" {
			r.Host = values[0]
		} else if r.Header.Get(name) == "" {
			r.Header[name] = values
		}
	}
	resp, err := e.base.RoundTrip(r)
	if x != nil && !isDial(err) {
		x.markSent()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelBody{e.body(resp, request), cancel}
	if x != nil && resp.StatusCode >= 300 {
		x.failed(resp.StatusCode, retryAfter(resp.Header.Get("Retry-After"), time.Now()))
	}
	return resp, nil
}

// body bounds and checks what the SDK reads of a response; request is the ID of the request, if it was one.
func (e *endpoint) body(r *http.Response, request string) io.ReadCloser {
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	switch {
	case r.StatusCode >= 200 && r.StatusCode < 300 && media == "text/event-stream":
		return newEventBody(r.Body, e.in)
	case r.StatusCode >= 200 && r.StatusCode < 300 && media == "application/json":
		return &jsonBody{body: r.Body, in: e.in, request: request}
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(r.Body, maxErrorBody), r.Body}
}

type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// isDial tells that an error came before anything was sent.
func isDial(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "dial"
}

// retryAfter reads the header of that name: seconds, or a date. Zero: it says nothing.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
		return time.Duration(min(max(n, 0), 86400)) * time.Second
	}
	if t, err := http.ParseTime(value); err == nil {
		return min(max(t.Sub(now), 0), 24*time.Hour)
	}
	return 0
}
