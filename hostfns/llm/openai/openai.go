// Package openai asks language models of servers that speak OpenAI's chat completions: OpenAI's own, and those of many
// others, local ones too.
//
// Servers differ in what they know of the protocol. What one refuses is left away or replaced, and that is remembered for
// the model: see quirks.
package openai

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/hostfns/llm"
)

// Options of New. Nil and the zero value are the good defaults.
type Options struct {
	// BaseURL is where the API is, with its version: "http://127.0.0.1:11434/v1". Default: DefaultBaseURL.
	BaseURL string
	// APIKey returns the key. It is called for each attempt, from any goroutine; the key is never shown. Default: no key, as
	// local servers want it.
	APIKey func() string
	// Model is the name of the model for requests that name none. Default: none, such requests fail.
	Model string
	// Organization is sent as OpenAI-Organization. Default: not sent.
	Organization string
	// Headers are sent with each request, besides those of the protocol. Default: none.
	Headers http.Header
	// HTTPClient makes the requests; its Timeout and CheckRedirect are not used. Default: http.DefaultClient.
	HTTPClient *http.Client
	// Timeout bounds one attempt. Default: DefaultTimeout; negative: none but that of the caller's context.
	Timeout time.Duration
	// MaxResponse bounds the bytes of a response. Default: DefaultMaxResponse.
	MaxResponse int64
}

// Defaults of Options.
const (
	DefaultBaseURL = "https://api.openai.com/v1"
	// DefaultTimeout is what a large model takes for a long answer, and then some.
	DefaultTimeout = 3 * time.Minute
	// DefaultMaxResponse has an answer of a hundred thousand tokens; streams have a few hundred bytes for each.
	DefaultMaxResponse = 32 << 20
)

// Model is a server of language models. It is safe for concurrent use.
type Model struct {
	o      Options
	client *http.Client

	mu     sync.Mutex
	quirks map[string]quirks // by model
}

var _ interface {
	llm.Model
	llm.Defaulter
} = (*Model)(nil)

// New returns the models of a server. It does not connect.
func New(o *Options) (*Model, error) {
	m := &Model{quirks: map[string]quirks{}}
	if o != nil {
		m.o = *o
	}
	m.o.BaseURL = strings.TrimRight(cmp.Or(m.o.BaseURL, DefaultBaseURL), "/")
	if err := checkURL(m.o.BaseURL); err != nil {
		return nil, err
	}
	m.o.Headers = m.o.Headers.Clone()
	m.o.Timeout = cmp.Or(m.o.Timeout, DefaultTimeout)
	if m.o.MaxResponse <= 0 {
		m.o.MaxResponse = DefaultMaxResponse
	}
	client := http.Client{}
	if m.o.HTTPClient != nil {
		client = *m.o.HTTPClient
	}
	client.Timeout = 0 // it would end a stream without saying so
	// Keys in headers would follow to wherever a server points.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return errRedirect }
	m.client = &client
	return m, nil
}

// checkURL keeps secrets out of the URL, which is in messages.
func checkURL(base string) error {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("llm: the base URL is no URL")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return errors.New("llm: the base URL must not have a user, a query or a fragment; a key is given as API key or header")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("llm: the base URL is %q; it has to look like %s", base, DefaultBaseURL)
	}
	return nil
}

// Name tells the server.
func (m *Model) Name() string { return "openai " + m.o.BaseURL }

// DefaultModel returns the model for requests that name none.
func (m *Model) DefaultModel() string { return m.o.Model }

func (m *Model) key() string {
	if m.o.APIKey == nil {
		return ""
	}
	return strings.TrimSpace(m.o.APIKey())
}
