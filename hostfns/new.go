package hostfns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/mayfly-run/mayfly/hostfns/schema"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Host has what sandboxes may ask for. It is safe for concurrent use.
type Host struct {
	o       Options
	log     *slog.Logger
	rules   *rules
	servers []*server // sorted by name
	byName  map[string]*server

	indexes  indexCache
	searches chan struct{} // bounds those that run at once, in all sessions
	closing  sync.Once
	closed   error
}

// New returns a host. It does not start any tool server, and copies what it is given. Errors tell of two servers of one
// name, and of names that cannot be used.
func New(o *Options) (*Host, error) {
	h := &Host{byName: map[string]*server{}, searches: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if o != nil {
		h.o = *o
	}
	if h.o.MaxInline <= 0 {
		h.o.MaxInline = DefaultMaxInline
	}
	h.o.MaxInline = min(h.o.MaxInline, MaxPage)
	if h.o.MaxHandles <= 0 {
		h.o.MaxHandles = DefaultMaxHandles
	}
	if h.log = h.o.Logger; h.log == nil {
		h.log = slog.Default()
	}
	h.o.Providers = slices.Clone(h.o.Providers)
	h.o.Functions = maps.Clone(h.o.Functions)
	for name, f := range h.o.Functions {
		if f == nil || name == "" || len(name) > maxName || kindOf(name) != kindFunction {
			return nil, fmt.Errorf("host function %.100q: the name is taken, empty or too long, or there is no function", name)
		}
	}
	h.rules = merge(h.o.Policy)
	if err := h.addServers(); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *Host) addServers() error {
	var errs []error
	for _, p := range h.o.Providers {
		for _, name := range p.Servers() {
			switch {
			case name == "" || len(name) > maxName || cutText(name, maxName) != name:
				errs = append(errs, fmt.Errorf("tool server %.100q: a name has 1 to %d bytes of UTF-8", name, maxName))
			case h.byName[name] != nil:
				errs = append(errs, fmt.Errorf("tool server %q: there are two of this name; give one another name", name))
			default:
				s := &server{name: name, p: p, h: h}
				h.byName[name] = s
				h.servers = append(h.servers, s)
			}
		}
	}
	slices.SortFunc(h.servers, func(a, b *server) int { return compare(a.name, b.name) })
	names := make([]string, len(h.servers))
	for i, s := range h.servers {
		names[i] = s.name
	}
	for i, module := range schema.PythonModules(names) {
		h.servers[i].module = module
	}
	// Patterns and destinations of secrets are "server.tool": with servers a and a.b, a tool of the first could pass for one
	// of the second.
	for _, s := range h.servers {
		for i := range s.name {
			if s.name[i] != '.' {
				continue
			}
			if other, _ := h.server(s.name[:i]); other != nil {
				errs = append(errs, fmt.Errorf("tool server %q: its name begins with that of %q and a dot, so their tools cannot be "+
					"told apart; give one another name", s.name, other.name))
			}
		}
	}
	return errors.Join(errs...)
}

// Close ends all tool servers. Sessions have to be closed before.
func (h *Host) Close() error {
	h.closing.Do(func() {
		errs := make([]error, len(h.o.Providers))
		var all sync.WaitGroup
		for i, p := range h.o.Providers {
			all.Go(func() { errs[i] = p.Close() })
		}
		all.Wait()
		h.closed = errors.Join(errs...)
	})
	return h.closed
}

// Secrets returns the host's secrets, perhaps nil, which is an empty set.
func (h *Host) Secrets() *secrets.Set { return h.o.Secrets }

// ServerInfo describes a tool server.
type ServerInfo struct {
	Name string `json:"name"` // as configured
	// Module is its name in Python: tools.MODULE.
	Module string `json:"module"`
}

// Servers lists the tool servers, sorted by name.
func (h *Host) Servers() []ServerInfo {
	out := make([]ServerInfo, len(h.servers))
	for i, s := range h.servers {
		out[i] = ServerInfo{s.name, s.module}
	}
	return out
}

// server finds a server by its name, or else by that of its module.
func (h *Host) server(name string) (*server, *Error) {
	if s := h.byName[name]; s != nil {
		return s, nil
	}
	for _, s := range h.servers {
		if s.module == name {
			return s, nil
		}
	}
	return nil, h.noServer(name, h.rules)
}

func (h *Host) noServer(name string, r *rules) *Error {
	var known []string
	for _, s := range h.servers {
		if r.server(s.name, s.module) {
			known = append(known, s.name)
		}
	}
	e := Errorf(CodeUnavailable, "there is no tool server %.100q", name)
	e.Hint = hintNames("servers", name, known)
	return e
}

// Listing returns a server's tools; name may be the server's or the module's. With refresh, past all caches. What the
// host's policy denies is in it as well.
func (h *Host) Listing(ctx context.Context, name string, refresh bool) (*Listing, error) {
	s, e := h.server(name)
	if e != nil {
		return nil, e
	}
	if r, ok := s.p.(Refresher); ok && refresh {
		l, err := protect(h, func() (*Listing, error) { return r.Refresh(ctx, s.name) })
		if err != nil {
			return nil, err
		}
		return s.compile(l).listing, nil
	}
	c, err := s.catalogue(ctx)
	if err != nil {
		return nil, err
	}
	return c.listing, nil
}
