package hostfns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mayfly-run/mayfly/hostfns/schema"
)

// Match is a tool that a search found.
type Match struct {
	Server    string `json:"server"`
	Tool      string `json:"tool"`
	Name      string `json:"name"`
	Import    string `json:"import"`
	Signature string `json:"signature"`
	Summary   string `json:"summary"`
}

// Bounds of a search.
const (
	defaultMatches = 10
	maxMatches     = 100
	maxQuery       = 4 << 10
)

// Search finds tools that the host's policy allows by words, in one server or in all (""), best first, at most limit (0: 10,
// never more than 100). The error tells of servers that could not be listed; matches in the others are returned with it.
func (h *Host) Search(ctx context.Context, query, server string, limit int) ([]Match, error) {
	found, failed, err := h.search(ctx, query, server, limit, h.rules)
	if err != nil {
		return nil, err
	}
	return found, joined(failed)
}

func joined(failed map[string]error) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		errs = append(errs, fmt.Errorf("tool server %s: %w", name, failed[name]))
	}
	return errors.Join(errs...)
}

// search fails when no server could be listed.
func (h *Host) search(ctx context.Context, query, server string, limit int, r *rules) ([]Match, map[string]error, error) {
	if len(query) > maxQuery {
		return nil, nil, Errorf(CodeRequest, "a query has at most %d bytes", maxQuery)
	}
	var cats []*catalogue
	var failed map[string]error
	if server != "" {
		cat, err := h.catalogue(ctx, server, r)
		if err != nil {
			return nil, nil, err
		}
		cats = []*catalogue{cat}
	} else if cats, failed = h.catalogues(ctx, h.seen(r)); len(cats) == 0 && len(failed) > 0 {
		return nil, nil, joinedError(failed)
	}
	// A search is no call that counts, and its program takes no place while it waits.
	select {
	case h.searches <- struct{}{}:
		defer func() { <-h.searches }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	x := h.indexes.get(cats)
	limit = min(cmp.Or(max(0, limit), defaultMatches), maxMatches)
	out := []Match{}
	for _, hit := range x.index.SearchFunc(query, limit, func(i int) bool { return x.tools[i].visible(r) }) {
		t := x.tools[hit.Doc]
		out = append(out, Match{
			Server: t.Server(), Tool: t.Original(), Name: t.Module() + "." + t.Name(),
			Import:    "from tools." + t.Module() + " import " + t.Name(),
			Signature: t.Signature().Line(), Summary: t.Summary(),
		})
	}
	return out, failed, nil
}

// joinedError is the error when every server failed: the first one's, with the others named.
func joinedError(failed map[string]error) error {
	names := slices.Sorted(maps.Keys(failed))
	e := toError(failed[names[0]])
	e.Server = names[0]
	e.Message = "no tool server could be listed (" + cutText(strings.Join(names, ", "), 1<<10) + "): " + e.Message
	return e
}

// seen returns the servers that rules let be seen.
func (h *Host) seen(r *rules) []*server {
	var out []*server
	for _, s := range h.servers {
		if r.server(s.name, s.module) {
			out = append(out, s)
		}
	}
	return out
}

// catalogues lists servers, several at a time: they may have to be started.
func (h *Host) catalogues(ctx context.Context, servers []*server) (cats []*catalogue, failed map[string]error) {
	const atOnce = 8
	all, errs := make([]*catalogue, len(servers)), make([]error, len(servers))
	turns := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i, s := range servers {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			all[i], errs[i] = s.catalogue(ctx)
		})
	}
	group.Wait()
	for i, s := range servers {
		if errs[i] == nil {
			cats = append(cats, all[i])
			continue
		}
		if failed == nil {
			failed = map[string]error{}
		}
		failed[s.name] = errs[i]
	}
	return cats, failed
}

// indexCache keeps the indexes that were used last, by what they are of.
type indexCache struct {
	mu  sync.Mutex
	all []*searchIndex // last used first
}

// maxIndexes bounds the cache: different policies see different servers, but not many.
const maxIndexes = 8

type searchIndex struct {
	of    []*catalogue
	once  sync.Once
	tools []*tool
	index *schema.Index
}

func (c *indexCache) get(cats []*catalogue) *searchIndex {
	c.mu.Lock()
	i := slices.IndexFunc(c.all, func(x *searchIndex) bool { return slices.Equal(x.of, cats) })
	var x *searchIndex
	if i >= 0 {
		x = c.all[i]
		c.all = slices.Delete(c.all, i, i+1)
	} else {
		x = &searchIndex{of: slices.Clone(cats)}
	}
	c.all = slices.Insert(c.all[:min(len(c.all), maxIndexes-1)], 0, x)
	c.mu.Unlock()
	x.once.Do(x.build)
	return x
}

func (x *searchIndex) build() {
	var docs []schema.Doc
	for _, cat := range x.of {
		for _, t := range cat.tools {
			x.tools = append(x.tools, t)
			docs = append(docs, t.Doc())
		}
	}
	x.index = schema.NewIndex(docs)
}
