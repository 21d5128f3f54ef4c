// Package egress is the HTTP client of guest code: off by default, and never further than an allow-list says.
//
// A Client has Rules. A request is made when one of them allows it: scheme, host, port, method and path, which are brought
// into one canonical form first, and it is that form that is sent. Names are resolved by the host, and the address that a
// connection is made to is checked: guest code does not get into the host's own network unless a rule says so. Redirects
// are not followed, they are returned: the guest's library makes a new request of each, which is checked like any other.
// Every size and time is bounded.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// FnRequest is the name of the host function. Its args are {"method", "url", "headers": [[NAME, VALUE]...], "timeout":
// SECONDS}, all but the URL optional, and its body is that of the request. The value's data is the body of the response,
// and its head {"status", "reason", "headers": [[NAME, VALUE]...], "url", "http_version": "1.1" | "2"}. Headers are strings
// whose characters stand for bytes (Latin-1), as in Python's http.client.
const FnRequest = "http.request"

// Defaults of Options.
const (
	// DefaultMaxRequest and DefaultMaxResponse are far more than an API sends, and no danger to the host's memory.
	DefaultMaxRequest  = 16 << 20
	DefaultMaxResponse = 16 << 20
	// DefaultMaxHeader is what common servers accept, with room.
	DefaultMaxHeader = 64 << 10
	// DefaultTimeout is the limit of an execution's wall time as well.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxConcurrent bounds what responses take of the host's memory, to 1 GiB of them by default.
	DefaultMaxConcurrent = 64
	// DefaultUserAgent is sent when the guest says nothing else.
	DefaultUserAgent = "mayfly"
)

// Resolver finds the addresses of a host. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options of New. Nil and the zero value are the good defaults: nothing is allowed.
type Options struct {
	// Rules say what is allowed: a request has to match one of them.
	Rules []Rule
	// Secrets are revealed to hosts that they are for, "http:HOST:PORT", where their placeholders stand in header values, the
	// query or the body. Nil: none.
	Secrets *secrets.Set
	// MaxRequest bounds the body of a request, in bytes, before secrets are revealed in it. Default: DefaultMaxRequest.
	MaxRequest int64
	// MaxResponse bounds the body of a response, in bytes, as sent and after decompression. More than 63 MiB cannot be given
	// to a guest at once. Default: DefaultMaxResponse.
	MaxResponse int64
	// MaxHeader bounds the headers of a request, and those of a response, in bytes. Default: DefaultMaxHeader.
	MaxHeader int
	// Timeout bounds a request, from waiting for its turn to the last byte of the response. Guest code can only ask for less.
	// Default: DefaultTimeout.
	Timeout time.Duration
	// MaxConcurrent bounds the requests that are under way at once; more wait. Default: DefaultMaxConcurrent.
	MaxConcurrent int
	// UserAgent is sent when the guest gives none. Default: DefaultUserAgent.
	UserAgent string
	// Resolver finds addresses. Default: net.DefaultResolver.
	Resolver Resolver
	// RootCAs verify servers. Default: those of the system.
	RootCAs *x509.CertPool
}

// Client makes the requests of guest code. It is safe for concurrent use. Connections are shared by all who use it, so
// that executions under different rules need clients of their own.
type Client struct {
	o      Options
	rules  []Rule
	slots  chan struct{}
	public *http.Transport // refuses addresses that are not public
	inner  *http.Transport // for hosts that a rule allows private addresses of
}

// New returns a client. It checks the rules.
func New(o *Options) (*Client, error) {
	c := &Client{}
	if o != nil {
		c.o = *o
	}
	setDefault(&c.o.MaxRequest, DefaultMaxRequest)
	setDefault(&c.o.MaxResponse, DefaultMaxResponse)
	setDefault(&c.o.MaxHeader, DefaultMaxHeader)
	setDefault(&c.o.Timeout, DefaultTimeout)
	setDefault(&c.o.MaxConcurrent, DefaultMaxConcurrent)
	if c.o.UserAgent == "" {
		c.o.UserAgent = DefaultUserAgent
	}
	if !validValue(c.o.UserAgent) {
		return nil, fmt.Errorf("egress: %q cannot be a User-Agent", c.o.UserAgent)
	}
	for i, r := range c.o.Rules {
		r, err := r.normal()
		if err != nil {
			return nil, fmt.Errorf("egress: rule %d: %w", i+1, err)
		}
		c.rules = append(c.rules, r)
	}
	c.slots = make(chan struct{}, c.o.MaxConcurrent)
	c.public, c.inner = c.transport(false), c.transport(true)
	return c, nil
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

func (c *Client) transport(private bool) *http.Transport {
	d := &dialer{resolver: c.o.Resolver, private: private}
	return &http.Transport{
		Proxy:                  nil, // the host's environment is none of the guest's
		DialContext:            d.dial,
		TLSClientConfig:        &tls.Config{RootCAs: c.o.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // decompression is ours, to be bounded
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    8,
		MaxConnsPerHost:        c.o.MaxConcurrent,
		IdleConnTimeout:        60 * time.Second,
		MaxResponseHeaderBytes: int64(c.o.MaxHeader),
	}
}

// Functions returns the host function, for hostfns.Options.
func (c *Client) Functions() map[string]hostfns.Function {
	return map[string]hostfns.Function{FnRequest: c.request}
}

// Rules returns the rules, in canonical form.
func (c *Client) Rules() []Rule { return append([]Rule(nil), c.rules...) }

// Close closes the connections that are kept for later. Requests under way go on.
func (c *Client) Close() error {
	c.public.CloseIdleConnections()
	c.inner.CloseIdleConnections()
	return nil
}
