package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// Dial makes a connection to a server.
type Dial func(ctx context.Context) (net.Conn, error)

// DialUnix returns a Dial for a Unix socket, which has to be this user's own.
func DialUnix(path string) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "unix", path)
		if err != nil {
			return nil, err
		}
		if err := checkPeer(c); err != nil {
			return nil, fmt.Errorf("socket %s: %w", path, errors.Join(err, c.Close()))
		}
		return c, nil
	}
}

// Client does what the routes do. Errors match the sentinels of engine, or say that there is no connection. It is safe
// for concurrent use.
type Client struct {
	http *http.Client
}

// NewClient returns a client. Each request has a connection of its own, so the server may change between two of them.
func NewClient(dial Dial) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
		// An archive is compressed, and nothing else is large.
		DisableCompression: true,
	}}}
}

// maxAnswer bounds a JSON answer: a list of a session's files, at most.
const maxAnswer = 256 << 20

// call sends a request with a JSON body, unless in is nil, and reads a JSON answer into out, unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("answer of the server: %w", err)
	}
	return nil
}

// stopPatience is how long a request waits for a server that is about to end, and for another one in its place.
const stopPatience = 30 * time.Second

func (c *Client) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body []byte
	contentType := ""
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
		contentType = "application/json"
	}
	for start, wait := time.Now(), 5*time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		resp, err := c.upload(ctx, method, path, contentType, bytes.NewReader(body))
		if !errors.Is(err, errStopping) || time.Since(start) > stopPatience {
			return resp, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, connectionError(ctx, ctx.Err())
		}
	}
}

// upload sends a request with a body, and turns an answer that tells of an error into one. Closing the answer's body is
// left to the caller.
func (c *Client) upload(ctx context.Context, method, path, contentType string, body io.Reader) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://mayfly"+path, body)
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, connectionError(ctx, err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	var p Problem
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil || p.Code == "" {
		return nil, fmt.Errorf("the server answered %s: %.200q", resp.Status, b)
	}
	return nil, p.err()
}

// connectionError drops what http.Client says about a URL that nobody has seen.
func connectionError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &engine.Error{Err: ctx.Err(), Phase: engine.PhaseRequest}
	}
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // it is the outermost one, always
		return u.Err
	}
	return err
}

func sessionPath(name, rest string) string { return "/v1/sessions/" + url.PathEscape(name) + rest }

// Health tells who serves.
func (c *Client) Health(ctx context.Context) (*Health, error) {
	h := &Health{}
	return h, c.call(ctx, http.MethodGet, "/v1/health", nil, h)
}
