package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var (
	errRedirect = errors.New("the server redirects")
	errTooLarge = errors.New("the response is too large")
)

// exchange is what the library does not let through: of an attempt, what is to be sent and what came back.
type exchange struct {
	zero bool // send temperature 0, which the library leaves away

	status     int
	retryAfter time.Duration
	noStream   bool // a stream was asked for, and a whole answer came
}

type exchangeKey struct{}

// doer makes the requests of the library.
type doer struct {
	client  *http.Client
	headers http.Header
	max     int64
}

// Do implements the library's HTTPDoer. The exchange is in the request's context.
func (d *doer) Do(r *http.Request) (*http.Response, error) {
	x := r.Context().Value(exchangeKey{}).(*exchange)
	for key, values := range d.headers {
		r.Header[http.CanonicalHeaderKey(key)] = values
	}
	if x.zero {
		if err := zeroTemperature(r); err != nil {
			return nil, err
		}
	}
	stream := strings.HasPrefix(r.Header.Get("Accept"), "text/event-stream")
	resp, err := d.client.Do(r)
	if err != nil {
		if resp != nil { // with errRedirect
			resp.Body.Close()
		}
		return nil, err
	}
	x.status = resp.StatusCode
	x.retryAfter = retryAfter(resp.Header, time.Now())
	x.noStream = stream && resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json")
	resp.Body = &bounded{resp.Body, d.max}
	return resp, nil
}

// zeroTemperature adds it to the JSON of a request that has none.
func zeroTemperature(r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	r.Body.Close()
	if rest, ok := bytes.CutPrefix(body, []byte("{")); ok {
		body = append([]byte(`{"temperature":0,`), rest...)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.ContentLength = int64(len(body))
	return nil
}

// bounded is a body that fails when it is too large.
type bounded struct {
	body io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	return n, err
}

func (b *bounded) Close() error { return b.body.Close() }

// maxRetryAfter bounds what a server may say, so that sums do not overflow.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads when to try again, zero if the server does not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	d := time.Duration(0)
	value := strings.TrimSpace(h.Get("Retry-After"))
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		d = bound(ms / 1000)
	} else if s, ok := number(value); ok {
		d = bound(s)
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return max(0, min(d, maxRetryAfter))
}

func number(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return n, err == nil && n >= 0
}

func bound(seconds float64) time.Duration {
	if seconds > maxRetryAfter.Seconds() {
		return maxRetryAfter
	}
	return time.Duration(seconds * float64(time.Second))
}

// with returns a context for one attempt.
func (x *exchange) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}
