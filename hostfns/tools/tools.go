// Package tools has the tool servers of a host: it reads their configuration, and is the MCP client of each.
//
// A server is started when it is first needed, by a call or by a list of its tools that is not in the cache; it stays until
// Close, or until it was not used for its idle timeout. One that ends by itself is started again when it is needed, after a
// time that grows with each failure. Programs run in process groups of their own, which end as a whole; what leaves its group
// is told by the end of its input only. On Linux, programs also get SIGTERM when this process dies.
//
// Everything a server sends is hostile: messages are bounded, what is no JSON-RPC is skipped, and floods are dropped. What it
// has to say in general (log messages, questions) goes to the oldest call that is under way on it.
package tools

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mayfly-run/mayfly/hostfns"
)

// Options of New. Nil and the zero value are the good defaults.
type Options struct {
	// CacheDir is a directory where lists of tools are kept, so that a server need not be started to know them. It is made
	// when it is not there. Default: they are kept in memory.
	CacheDir string
	// Getenv looks up variables of the environment. Default: os.LookupEnv.
	Getenv func(name string) (string, bool)
	// Expand puts the value of a secret for ${secret:NAME}. Default: there are no secrets.
	Expand func(text string) (string, error)
	// ClientName and ClientVersion are what servers are told of this program. Default: "mayfly" and "0".
	ClientName, ClientVersion string
	// MaxResult bounds a message of a server in bytes, and so a result. Default: DefaultMaxResult.
	MaxResult int
	// Started is told when a server is started, from any goroutine. Default: nobody.
	Started func(server string)
	// Stderr is told the lines that servers write to standard error, from any goroutine; they are cut to some KiB. Default:
	// they are logged at debug level.
	Stderr func(server, line string)
	// Logger gets what an operator may want to know. Default: slog.Default().
	Logger *slog.Logger
}

// DefaultMaxResult is room for what a program may sensibly want of a tool, in bytes.
const DefaultMaxResult = 64 << 20

// Servers are tool servers. It is safe for concurrent use.
type Servers struct {
	o        Options
	log      *slog.Logger
	expander *expander
	servers  map[string]*server
	names    []string
	spawner  *spawner
	tokens   atomic.Int64 // of progress

	ctx     context.Context
	cancel  context.CancelCauseFunc
	mu      sync.Mutex // of the decision to end
	running sync.WaitGroup
	closing sync.Once
}

var (
	_ hostfns.Provider  = (*Servers)(nil)
	_ hostfns.Refresher = (*Servers)(nil)
)

// New returns the servers of a configuration; none is started. Nil has none. An error tells of a server that makes no sense.
func New(c *Config, o *Options) (*Servers, error) {
	s := &Servers{servers: map[string]*server{}, spawner: newSpawner()}
	if o != nil {
		s.o = *o
	}
	if s.o.ClientName == "" {
		s.o.ClientName = "mayfly"
	}
	if s.o.ClientVersion == "" {
		s.o.ClientVersion = "0"
	}
	if s.o.MaxResult <= 0 {
		s.o.MaxResult = DefaultMaxResult
	}
	if s.log = s.o.Logger; s.log == nil {
		s.log = slog.Default()
	}
	if c == nil {
		c = &Config{}
	}
	s.expander = &expander{getenv: s.o.Getenv, secret: s.o.Expand, dir: c.Dir}
	if s.expander.getenv == nil {
		s.expander.getenv = os.LookupEnv
	}
	s.names = slices.Sorted(maps.Keys(c.Servers))
	var errs []error
	for _, name := range s.names {
		conf := c.Servers[name]
		conf.Args, conf.Env, conf.Headers = slices.Clone(conf.Args), maps.Clone(conf.Env), maps.Clone(conf.Headers)
		if err := conf.check(); err != nil {
			errs = append(errs, fmt.Errorf("tool server %.100q: %w", name, err))
		}
		one := &server{name: name, conf: conf, all: s}
		one.listings = &listings{s: one, relists: newBucket(10, 1)}
		s.servers[name] = one
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	return s, errors.Join(errs...)
}

// quiet is for the SDK, which tells of what is told elsewhere.
var quiet = slog.New(slog.DiscardHandler)

// Servers implements hostfns.Provider.
func (s *Servers) Servers() []string { return slices.Clone(s.names) }

// Tools implements hostfns.Provider. The list comes from the cache, if it can.
func (s *Servers) Tools(ctx context.Context, server string) (*hostfns.Listing, error) {
	return s.list(ctx, server, false)
}

// Refresh implements hostfns.Refresher.
func (s *Servers) Refresh(ctx context.Context, server string) (*hostfns.Listing, error) {
	return s.list(ctx, server, true)
}

func (s *Servers) list(ctx context.Context, server string, fresh bool) (*hostfns.Listing, error) {
	one := s.servers[server]
	if one == nil {
		return nil, unknown(server)
	}
	return one.listings.get(ctx, fresh)
}

// Call implements hostfns.Provider.
func (s *Servers) Call(ctx context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
	one := s.servers[c.Server]
	if one == nil {
		return nil, unknown(c.Server)
	}
	return one.call(ctx, c)
}

// Close implements hostfns.Provider. Servers have some seconds to end by themselves; then they are killed.
func (s *Servers) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.cancel(errClosed)
		s.mu.Unlock()
		s.running.Wait()
		s.spawner.close()
	})
	return nil
}

// goRunning runs f in a goroutine that Close waits for. It tells whether it did: not after Close.
func (s *Servers) goRunning(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.running.Go(f)
	return true
}
