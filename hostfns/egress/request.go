package egress

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

// args are those of FnRequest.
type args struct {
	Method  string      `json:"method"`
	URL     string      `json:"url"`
	Headers [][2]string `json:"headers"`
	Timeout *float64    `json:"timeout"`
}

// request implements FnRequest.
func (c *Client) request(ctx context.Context, call *hostfns.FunctionCall) (*hostfns.Value, error) {
	var a args
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return nil, bad("the arguments of %s make no sense: %w", FnRequest, err)
	}
	t, err := parseTarget(a.URL)
	if err != nil {
		return nil, bad("%w", err)
	}
	method := asciiUpper(a.Method)
	if method == "" {
		method = http.MethodGet
	}
	if err := checkMethod(method); err != nil {
		return nil, bad("%w", err)
	}
	if int64(len(call.Body)) > c.o.MaxRequest {
		return nil, hostfns.Errorf(hostfns.CodeTooLarge, "the request's body has %d bytes, more than the %d allowed",
			len(call.Body), c.o.MaxRequest)
	}
	private, err := c.allow(method, t)
	if err != nil {
		return nil, err
	}
	h, err := c.header(&a, method, t, len(call.Body))
	if err != nil {
		return nil, err
	}
	for _, name := range overrides {
		for _, m := range h[name] {
			if _, err := c.allow(asciiUpper(m), t); err != nil {
				return nil, err
			}
		}
	}
	s := &sending{client: c, method: method, target: t, header: h, body: call.Body, private: private, told: t.String()}
	if err := s.reveal(); err != nil {
		return nil, err
	}
	limit := c.o.Timeout
	if a.Timeout != nil && *a.Timeout > 0 && *a.Timeout < limit.Seconds() {
		limit = max(time.Duration(*a.Timeout*float64(time.Second)), time.Millisecond)
	}
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v, err := s.send(inner)
	if err != nil {
		return nil, s.explain(ctx, inner, limit, err)
	}
	return v, nil
}

// allow returns an error when no rule allows a request, and else whether one lets the host have a private address.
func (c *Client) allow(method string, t *target) (private bool, err error) {
	allowed := false
	for i := range c.rules {
		if c.rules[i].allows(method, t) {
			allowed, private = true, private || c.rules[i].AllowPrivate
		}
	}
	if !allowed {
		return false, c.denied(method, t)
	}
	return private, nil
}

// sending is a request on its way.
type sending struct {
	client  *Client
	method  string
	target  *target
	header  http.Header
	body    []byte
	private bool
	told    string // the URL as the guest may see it
	// spelled are spellings of secrets in this request that the set does not know: what was sent, and what stood there.
	spelled [][2]string
}

func (s *sending) send(ctx context.Context) (*hostfns.Value, error) {
	u, err := s.target.url()
	if err != nil {
		return nil, bad("%w", err)
	}
	req := (&http.Request{Method: s.method, URL: u, Host: u.Host, Header: s.header}).WithContext(ctx)
	if len(s.body) > 0 {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.body)), nil }
	} else if slices.Contains([]string{"POST", "PUT", "PATCH"}, s.method) {
		req.Body = http.NoBody // says Content-Length: 0
	}
	select {
	case s.client.slots <- struct{}{}:
		defer func() { <-s.client.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	transport := s.client.public
	if s.private {
		transport = s.client.inner
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return s.response(resp)
}
