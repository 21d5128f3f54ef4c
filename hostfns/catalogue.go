package hostfns

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mayfly-run/mayfly/hostfns/schema"
)

// server is a tool server of a host.
type server struct {
	name, module string
	p            Provider
	h            *Host
	// last is what was made of the listing that was seen last.
	last atomic.Pointer[catalogue]
}

// catalogue is a listing, prepared. It does not change.
type catalogue struct {
	server   *server
	listing  *Listing
	tools    []*tool
	byName   map[string]*tool
	byPython map[string]*tool
}

// tool is a tool of a server.
type tool struct {
	*schema.Tool
	def         *Tool
	names       names
	destination string // for secrets
	output      bool   // it promises structured results

	once sync.Once
	json []byte
}

// maxTools bounds the tools of a server: no sensible one has so many, and each costs memory.
const maxTools = 100_000

// catalogue returns the server's tools; it may start the server.
func (s *server) catalogue(ctx context.Context) (*catalogue, error) {
	l, err := protect(s.h, func() (*Listing, error) { return s.p.Tools(ctx, s.name) })
	if err != nil {
		return nil, err
	}
	return s.compile(l), nil
}

// compile prepares a listing, or finds that it did so already.
func (s *server) compile(l *Listing) *catalogue {
	if l == nil {
		l = &Listing{}
	}
	if c := s.last.Load(); c != nil && (c.listing == l || c.listing.Version == l.Version && l.Version != "") {
		return c
	}
	c := &catalogue{server: s, listing: l, byName: map[string]*tool{}, byPython: map[string]*tool{}}
	var in []schema.Input
	var defs []*Tool
	for _, t := range l.Tools {
		if t == nil || t.Name == "" || len(t.Name) > maxName || cutText(t.Name, maxName) != t.Name || seen(c.byName, t.Name) ||
			len(defs) == maxTools {
			continue
		}
		c.byName[t.Name] = nil // for now
		defs = append(defs, t)
		in = append(in, schema.Input{
			Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
			ReadOnly: t.Annotations.ReadOnly, Destructive: t.Annotations.Destructive, Idempotent: t.Annotations.Idempotent,
			OpenWorld: t.Annotations.OpenWorld,
		})
	}
	if n := len(l.Tools) - len(defs); n > 0 {
		s.h.log.Warn("tools are left out: their names cannot be used, or are those of others, or there are too many",
			"server", s.name, "tools", len(l.Tools), "left_out", n)
	}
	for i, compiled := range schema.Compile(s.name, s.module, in) {
		t := &tool{
			Tool: compiled, def: defs[i], names: toolNames(s.name, s.module, defs[i].Name, compiled.Name()),
			destination: "tool:" + s.name + "." + defs[i].Name, output: len(defs[i].OutputSchema) > 0,
		}
		c.byName[defs[i].Name] = t
		c.tools = append(c.tools, t)
		c.byPython[compiled.Name()] = t
	}
	s.last.Store(c)
	return c
}

// find returns a tool by its original name, or else by the one in Python.
func (c *catalogue) find(name string) *tool {
	if t := c.byName[name]; t != nil {
		return t
	}
	return c.byPython[name]
}

// visible returns the tools that rules let be seen, in the order of the listing.
func (c *catalogue) visible(r *rules) []*tool {
	out := make([]*tool, 0, len(c.tools))
	for _, t := range c.tools {
		if ok, _ := r.allows(&t.names, &t.def.Annotations); ok {
			out = append(out, t)
		}
	}
	return out
}

// noTool is the error about a name that no visible tool has.
func (c *catalogue) noTool(name string, r *rules) *Error {
	var known []string
	for _, t := range c.visible(r) {
		known = append(known, t.Name())
	}
	e := Errorf(CodeUnknownTool, "the server %s has no tool %.100q", c.server.name, name)
	e.Server, e.Tool = c.server.name, cutText(name, maxName)
	e.Hint = hintNames("tools", name, known)
	return e
}

func seen[V any](m map[string]V, key string) bool {
	_, ok := m[key]
	return ok
}
