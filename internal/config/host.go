package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/egress"
	"github.com/mayfly-run/mayfly/hostfns/llm"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// HostOptions of Host. Nil and the zero value are the good defaults.
type HostOptions struct {
	// Version is what tool servers are told of this program. Default: none.
	Version string
	// CacheDir is where listings of tools are kept. Default: in memory.
	CacheDir string
	// Started is told when a tool server is started, from any goroutine. Default: nobody.
	Started func(server string)
	// Stderr gets what tool servers write to their standard error, by lines and without secrets, from any goroutine.
	// Default: the Logger, for debugging.
	Stderr func(server, line string)
	// Logger gets what an operator may want to know. Default: slog.Default().
	Logger *slog.Logger
}

// Host makes the host that the configuration describes. No tool server is started. Closing the host ends all of it.
func (c *Config) Host(ctx context.Context, o *HostOptions) (*hostfns.Host, error) {
	s, err := c.Spec()
	if err != nil {
		return nil, err
	}
	return s.Host(ctx, o)
}

// Host makes the host. No tool server is started; commands of secrets are run. Closing the host ends all of it.
func (s *Spec) Host(ctx context.Context, o *HostOptions) (h *hostfns.Host, err error) {
	if o == nil {
		o = &HostOptions{}
	}
	specs := make([]secrets.Spec, len(s.Secrets))
	for i := range s.Secrets {
		specs[i] = s.Secrets[i].spec()
	}
	set, err := secrets.New(ctx, specs)
	if err != nil {
		return nil, err
	}
	own := *o
	own.Logger = scrubbed(o.Logger, set)
	if tell := o.Stderr; tell != nil {
		own.Stderr = func(server, line string) { tell(server, string(set.Scrub([]byte(line)))) }
	}
	o = &own
	ho := &hostfns.Options{Policy: s.Policy, Secrets: set, Functions: map[string]hostfns.Function{}, Logger: o.Logger,
		OwnTime: []string{llm.FnAsk, llm.FnBatch}}
	defer func() {
		if err == nil {
			return
		}
		for _, p := range ho.Providers {
			err = errors.Join(err, p.Close())
		}
	}()
	ho.Providers, err = s.providers(set, o)
	if err != nil {
		return nil, err
	}
	if s.HTTP != nil {
		client, err := s.HTTP.client(set)
		if err != nil {
			return nil, err
		}
		maps.Copy(ho.Functions, client.Functions())
		ho.Providers = append(ho.Providers, closing(client.Close))
	}
	if s.LLM != nil {
		f, err := s.LLM.functions(set, o)
		if err != nil {
			return nil, err
		}
		maps.Copy(ho.Functions, f)
	}
	return hostfns.New(ho)
}

func (x *HTTP) client(set *secrets.Set) (*egress.Client, error) {
	eo := &egress.Options{Secrets: set, MaxResponse: int64(x.MaxResponse), Timeout: time.Duration(x.Timeout)}
	for i, text := range x.Allow {
		r, err := egress.ParseRule(text)
		if err != nil {
			return nil, fmt.Errorf("http.allow[%d]: %w", i, err)
		}
		eo.Rules = append(eo.Rules, r)
	}
	return egress.New(eo)
}

// closing is a provider without servers: something that ends with the host.
type closing func() error

func (closing) Servers() []string { return nil }

func (closing) Tools(context.Context, string) (*hostfns.Listing, error) {
	return nil, hostfns.Errorf(hostfns.CodeUnavailable, "there are no servers here")
}

func (closing) Call(context.Context, *hostfns.ToolCall) (*hostfns.ToolResult, error) {
	return nil, hostfns.Errorf(hostfns.CodeUnavailable, "there are no servers here")
}

func (c closing) Close() error { return c() }
