package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"strconv"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns/schema"
)

type catalogueArgs struct {
	Server string   `json:"server"`
	Tool   string   `json:"tool"`
	Query  string   `json:"query"`
	Limit  int      `json:"limit"`
	Names  []string `json:"names"`
	// Schemas asks for the schemas of arguments as well.
	Schemas bool `json:"schemas"`
}

// read serves what guest code wants to know of tools. Those that policy denies are not there.
func (c *Calls) read(k *call) (*Value, error) {
	var a catalogueArgs
	if err := json.Unmarshal(k.args, &a); err != nil {
		return nil, Errorf(CodeRequest, "arguments of %s: %w", k.fn, err)
	}
	switch k.fn {
	case FnServers:
		return c.readServers()
	case FnModule:
		return c.readModule(k.ctx, &a)
	case FnSpec:
		return c.readSpec(k.ctx, &a)
	case FnSearch:
		return c.readSearch(k.ctx, &a)
	}
	ref := a.Tool
	if ref == "" {
		ref = a.Server
	}
	text, err := c.h.describe(k.ctx, ref, c.rules)
	if err != nil {
		return nil, err
	}
	return &Value{Kind: ValueText, Data: []byte(text)}, nil
}

func (c *Calls) readServers() (*Value, error) {
	type info struct {
		Name   string `json:"name"`
		Server string `json:"server"`
	}
	all := []info{}
	for _, s := range c.h.servers {
		if c.rules.server(s.name, s.module) {
			all = append(all, info{s.module, s.name})
		}
	}
	return jsonValue(map[string]any{"servers": all})
}

func (c *Calls) readModule(ctx context.Context, a *catalogueArgs) (*Value, error) {
	cat, err := c.h.catalogue(ctx, a.Server, c.rules)
	if err != nil {
		return nil, err
	}
	tools := cat.visible(c.rules)
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name()
	}
	version := cat.listing.Version
	if len(tools) < len(cat.tools) { // not the module that others see
		h := fnv.New64a()
		for _, n := range names {
			io.WriteString(h, n+"\n")
		}
		version += "-" + strconv.FormatUint(h.Sum64(), 36)
	}
	return jsonValue(map[string]any{"server": cat.server.name, "version": version, "doc": cat.doc(), "names": names})
}

func (c *Calls) readSpec(ctx context.Context, a *catalogueArgs) (*Value, error) {
	cat, err := c.h.catalogue(ctx, a.Server, c.rules)
	if err != nil {
		return nil, err
	}
	var tools []*tool
	if a.Names == nil {
		tools = cat.visible(c.rules)
	} else {
		if len(a.Names) > len(cat.tools) {
			return nil, Errorf(CodeRequest, "%d names, and the server %s has %d tools", len(a.Names), cat.server.name, len(cat.tools))
		}
		tools = make([]*tool, len(a.Names))
		for i, name := range a.Names {
			if tools[i] = cat.find(name); tools[i] == nil || !tools[i].visible(c.rules) {
				return nil, cat.noTool(name, c.rules)
			}
		}
	}
	size := 16
	for _, t := range tools {
		size += len(t.spec()) + 1
	}
	out := append(make([]byte, 0, size), `{"tools":[`...)
	for i, t := range tools {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, t.spec()...)
		if s := t.def.InputSchema; a.Schemas && t.Problem() == "" && len(s) > 0 {
			out = append(append(append(out[:len(out)-1], `,"inputSchema":`...), s...), '}')
		}
	}
	return &Value{Kind: ValueJSON, Data: append(out, "]}"...)}, nil
}

func (c *Calls) readSearch(ctx context.Context, a *catalogueArgs) (*Value, error) {
	found, failed, err := c.h.search(ctx, a.Query, a.Server, a.Limit, c.rules)
	if err != nil {
		return nil, err
	}
	v, err := jsonValue(found)
	if err == nil && len(failed) > 0 {
		why := map[string]string{}
		for name, err := range failed {
			e := toError(err)
			why[name] = cutText(e.Message, 1<<10)
		}
		v.Head, err = json.Marshal(map[string]any{"failed": why})
	}
	return v, err
}

func jsonValue(v any) (*Value, error) {
	j, err := json.Marshal(v)
	return &Value{Kind: ValueJSON, Data: j}, err
}

// catalogue returns that of a server which rules let be seen; name may be the server's or the module's.
func (h *Host) catalogue(ctx context.Context, name string, r *rules) (*catalogue, error) {
	s, e := h.server(name)
	if e != nil || !r.server(s.name, s.module) {
		// The error names servers that are like it, of which some may be hidden by r alone.
		return nil, h.noServer(name, r)
	}
	return s.catalogue(ctx)
}

// doc is what the server says of itself.
func (c *catalogue) doc() string {
	const longest = 16 << 10
	return strings.TrimSpace(cutText(c.listing.Title, maxName) + "\n\n" + cutText(c.listing.Instructions, longest))
}

// spec is the tool's signature as JSON, made once: every session that imports the tool asks for it.
func (t *tool) spec() []byte {
	t.once.Do(func() {
		var err error
		if t.json, err = json.Marshal(t.Signature()); err != nil {
			panic(err) // of strings, and JSON that was parsed
		}
	})
	return t.json
}

func (t *tool) visible(r *rules) bool {
	ok, _ := r.allows(&t.names, &t.def.Annotations)
	return ok
}

// Signatures returns how Python code sees those of a server's tools that the host's policy allows, in the order of the
// listing. The name may be the server's or the module's.
func (h *Host) Signatures(ctx context.Context, name string) ([]*schema.Signature, error) {
	cat, err := h.catalogue(ctx, name, h.rules)
	if err != nil {
		return nil, err
	}
	var out []*schema.Signature
	for _, t := range cat.visible(h.rules) {
		out = append(out, t.Signature())
	}
	return out, nil
}

// Modules returns the tool servers as Python modules, with the tools that the host's policy allows. Servers that cannot be
// listed are left out, and are in the error.
func (h *Host) Modules(ctx context.Context) ([]schema.Module, error) {
	cats, failed := h.catalogues(ctx, h.seen(h.rules))
	modules := make([]schema.Module, len(cats))
	for i, cat := range cats {
		m := schema.Module{Name: cat.server.module, Server: cat.server.name, Doc: cat.doc()}
		for _, t := range cat.visible(h.rules) {
			m.Tools = append(m.Tools, t.Tool)
		}
		modules[i] = m
	}
	return modules, joined(failed)
}

// Stubs writes Python type stubs of all tools that the host's policy allows. Servers that cannot be listed are left out,
// and are in the error.
func (h *Host) Stubs(ctx context.Context, w io.Writer) error {
	modules, err := h.Modules(ctx)
	return errors.Join(schema.WriteStubs(w, modules), err)
}
