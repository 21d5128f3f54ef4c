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
	if a.Names == nil {
		tools := cat.visible(c.rules)
		specs := make([]*schema.Signature, len(tools))
		for i, t := range tools {
			specs[i] = t.Signature()
		}
		return jsonValue(map[string]any{"tools": specs})
	}
	if len(a.Names) > len(cat.tools) {
		return nil, Errorf(CodeRequest, "%d names, and the server %s has %d tools", len(a.Names), cat.server.name, len(cat.tools))
	}
	specs := make([]*schema.Signature, len(a.Names))
	for i, name := range a.Names {
		t := cat.find(name)
		if t == nil || !t.visible(c.rules) {
			return nil, cat.noTool(name, c.rules)
		}
		specs[i] = t.Signature()
	}
	return jsonValue(map[string]any{"tools": specs})
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
	if e != nil {
		return nil, e
	}
	if !r.server(s.name, s.module) {
		return nil, h.noServer(name, r)
	}
	return s.catalogue(ctx)
}

// doc is what the server says of itself.
func (c *catalogue) doc() string {
	const longest = 16 << 10
	return strings.TrimSpace(cutText(c.listing.Title, maxName) + "\n\n" + cutText(c.listing.Instructions, longest))
}

func (t *tool) visible(r *rules) bool {
	ok, _ := r.allows(&t.names, &t.def.Annotations)
	return ok
}

// Signatures returns how Python code sees a server's tools, in the order of the listing, those that the host's policy allows.
// The name may be the server's or the module's.
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

// Stubs writes Python type stubs of all tools that the host's policy allows. Servers that cannot be listed are left out,
// and are in the error.
func (h *Host) Stubs(ctx context.Context, w io.Writer) error {
	cats, failed := h.catalogues(ctx, h.seen(h.rules))
	modules := make([]schema.Module, len(cats))
	for i, cat := range cats {
		m := schema.Module{Name: cat.server.module, Server: cat.server.name, Doc: cat.doc()}
		for _, t := range cat.visible(h.rules) {
			m.Tools = append(m.Tools, t.Tool)
		}
		modules[i] = m
	}
	return errors.Join(schema.WriteStubs(w, modules), joined(failed))
}
