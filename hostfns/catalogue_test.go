package hostfns

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func shop(server string) *Tools {
	yes := true
	p := NewTools(server)
	for _, d := range []Tool{
		{Name: "list-orders", Description: "Lists the orders of a customer.", Annotations: Annotations{ReadOnly: &yes},
			InputSchema: json.RawMessage(`{"type":"object","properties":{"customer":{"type":"string"}},"required":["customer"]}`)},
		{Name: "cancel-order", Description: "Cancels an order.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)},
		{Name: "class", Description: "A keyword as a name."},
	} {
		p.Add(d, nil2)
	}
	return p
}

func TestCatalogue(t *testing.T) {
	h := newHost(t, &Options{Providers: []Provider{shop("web-shop"), adder()}})
	s := h.NewSession(&Policy{Deny: []string{"*.cancel*"}})
	defer s.Close()
	for _, tc := range []struct {
		policy *Policy
		fn     string
		args   any
		want   string
		code   string
	}{
		{nil, FnServers, nil, `{"servers":[{"name":"math","server":"math"},{"name":"web_shop","server":"web-shop"}]}`, ""},
		{&Policy{Allow: []string{"math"}}, FnServers, nil, `{"servers":[{"name":"math","server":"math"}]}`, ""},
		{&Policy{Allow: []string{}}, FnServers, nil, `{"servers":[]}`, ""},
		{nil, FnModule, map[string]any{"server": "none"}, "", CodeUnavailable},
		{&Policy{Allow: []string{"math"}}, FnModule, map[string]any{"server": "web_shop"}, "", CodeUnavailable},
		{nil, FnSpec, map[string]any{"server": "web_shop", "names": []string{"cancel_order"}}, "", CodeUnknownTool},
		{nil, FnSpec, map[string]any{"server": "web_shop", "names": []string{"nothing"}}, "", CodeUnknownTool},
		{nil, FnSpec, map[string]any{"server": "web_shop", "names": make([]string, 100)}, "", CodeRequest},
		{nil, FnSpec, map[string]any{"server": "web_shop", "names": []string{}}, `{"tools":[]}`, ""},
		{nil, FnSpec, 7, "", CodeRequest},
		{nil, FnDescribe, map[string]any{"tool": "web-shop.cancel-order"}, "", CodeUnknownTool},
		{nil, FnDescribe, map[string]any{"tool": "nothing.at.all"}, "", CodeUnavailable},
		{nil, FnDescribe, map[string]any{}, "", CodeUnavailable},
		{nil, FnDescribe, map[string]any{"tool": strings.Repeat("x.", 1000)}, "", CodeRequest},
		{nil, FnSearch, map[string]any{"query": "cancel"}, `[]`, ""},
		{nil, FnSearch, map[string]any{"query": "orders", "server": "none"}, "", CodeUnavailable},
		{nil, FnSearch, map[string]any{"query": strings.Repeat("x", maxQuery+1)}, "", CodeRequest},
	} {
		c := s.Begin(context.Background(), &ExecOptions{Policy: tc.policy})
		r := do(t, c, tc.fn, tc.args)
		if r.Code != tc.code || string(r.body) != tc.want {
			t.Errorf("%s %v: %+v %s", tc.fn, tc.args, r.errorHead, r.body)
		}
		if records, _ := c.End(); len(records) != 0 {
			t.Errorf("recorded: %+v", records)
		}
	}

	c := s.Begin(context.Background(), nil)
	for _, server := range []string{"web-shop", "web_shop"} {
		var module struct {
			Server, Version, Doc string
			Names                []string
		}
		r := do(t, c, FnModule, map[string]any{"server": server})
		if err := json.Unmarshal(r.body, &module); err != nil || module.Server != "web-shop" || len(module.Names) != 2 ||
			module.Names[0] != "list_orders" || module.Names[1] == "class" {
			t.Errorf("%s: %s", server, r.body)
		}
		all := decode(t, begin(t, h, nil).Handle(context.Background(), request(OpCall, fnHead{Fn: FnModule, Args: map[string]any{"server": server}})))
		if strings.Contains(string(all.body), `"version":"`+module.Version+`"`) {
			t.Error("a module with less in it has the same version")
		}
	}
	var spec struct {
		Tools []struct {
			Server, Tool, Name string
			Params             []struct{ Name string }
		}
	}
	r := do(t, c, FnSpec, map[string]any{"server": "web_shop"})
	if err := json.Unmarshal(r.body, &spec); err != nil || len(spec.Tools) != 2 || spec.Tools[0].Tool != "list-orders" ||
		spec.Tools[0].Server != "web-shop" || spec.Tools[0].Params[0].Name != "customer" {
		t.Errorf("%s", r.body)
	}
	if one := do(t, c, FnSpec, map[string]any{"server": "web_shop", "names": []string{"list_orders"}}); !strings.HasPrefix(string(r.body),
		strings.TrimSuffix(string(one.body), "]}")) {
		t.Errorf("%s", one.body)
	}
	var found []Match
	r = do(t, c, FnSearch, map[string]any{"query": "orders of a customer"})
	if err := json.Unmarshal(r.body, &found); err != nil || len(found) == 0 || found[0].Import != "from tools.web_shop import list_orders" ||
		found[0].Name != "web_shop.list_orders" || !strings.Contains(found[0].Signature, "customer: str") {
		t.Errorf("%s", r.body)
	}
	r = do(t, c, FnSearch, map[string]any{"query": "orders of a customer", "server": "math"})
	if strings.Contains(string(r.body), "web") {
		t.Errorf("%s", r.body)
	}
	for _, ref := range []string{"web-shop.list-orders", "web_shop.list_orders", "web-shop.list_orders"} {
		if r := do(t, c, FnDescribe, map[string]any{"tool": ref}); r.Kind != ValueText || !strings.Contains(string(r.body), "customer") {
			t.Errorf("%s: %+v %s", ref, r.errorHead, r.body)
		}
	}
	r = do(t, c, FnDescribe, map[string]any{"server": "web_shop"})
	if !strings.Contains(string(r.body), "list_orders(") || strings.Contains(string(r.body), "cancel") {
		t.Errorf("%s", r.body)
	}
	c.End()
}

// TestListingChanges: tools that a server adds or removes are seen at once.
func TestListingChanges(t *testing.T) {
	p := shop("s")
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}}), nil)
	search := func(q string) string {
		return string(do(t, c, FnSearch, map[string]any{"query": q}).body)
	}
	if got := search("refund"); got != "[]" {
		t.Errorf("%s", got)
	}
	raw(p, "refund", nil2)
	if got := search("refund"); !strings.Contains(got, "refund") {
		t.Errorf("%s", got)
	}
	p.Remove("refund")
	p.Remove("refund")
	if r := callTool(t, c, "s", "refund", nil); r.Code != CodeUnknownTool {
		t.Errorf("%+v", r)
	}
	if got := search("refund"); got != "[]" {
		t.Errorf("%s", got)
	}
}

// TestSearchIsCached: an index is made once for the servers that are seen.
func TestSearchIsCached(t *testing.T) {
	h := newHost(t, &Options{Providers: []Provider{shop("a"), shop("b")}})
	ctx := context.Background()
	for range 3 {
		for _, server := range []string{"", "a"} {
			if _, err := h.Search(ctx, "orders", server, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(h.indexes.all) != 2 {
		t.Errorf("%d indexes", len(h.indexes.all))
	}
	for i := range 3 * maxIndexes {
		h.indexes.get([]*catalogue{{listing: &Listing{Version: itoa(i)}}})
	}
	if len(h.indexes.all) != maxIndexes {
		t.Errorf("%d indexes", len(h.indexes.all))
	}
}

func TestHostileListing(t *testing.T) {
	p := &fixed{&Listing{Version: "1", Title: "\xff" + strings.Repeat("x", 1<<20), Instructions: strings.Repeat("y", 1<<20), Tools: []*Tool{
		nil, {}, {Name: "a"}, {Name: "a", Description: "again"}, {Name: strings.Repeat("n", maxName+1)}, {Name: "b\xff"},
		{Name: "c\n\"'d", Description: "odd"}, {Name: "c d", InputSchema: json.RawMessage(`{`)},
	}}}
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}}), nil)
	r := do(t, c, FnModule, map[string]any{"server": "fixed"})
	var module struct {
		Doc   string
		Names []string
	}
	if err := json.Unmarshal(r.body, &module); err != nil || len(module.Names) != 3 || len(module.Doc) > 20<<10 {
		t.Errorf("%v: names %q, doc of %d bytes", err, module.Names, len(module.Doc))
	}
	slices.Sort(module.Names)
	if len(slices.Compact(module.Names)) != 3 {
		t.Errorf("names %q", module.Names)
	}
	if r := callTool(t, c, "fixed", "c\n\"'d", nil); r.code != answerOK {
		t.Errorf("%+v", r)
	}
	if r := do(t, c, FnDescribe, map[string]any{"server": "fixed"}); r.code != answerOK || len(r.body) > 30<<10 {
		t.Errorf("%+v", r)
	}
}

type fixed struct{ l *Listing }

func (f *fixed) Servers() []string { return []string{"fixed"} }

func (f *fixed) Tools(context.Context, string) (*Listing, error) { return f.l, nil }

func (f *fixed) Call(context.Context, *ToolCall) (*ToolResult, error) { return &ToolResult{}, nil }

func (f *fixed) Close() error { return nil }

// BenchmarkImport is what "from tools.x import *" asks for, of a server with 1,000 tools: the first time, and later.
func BenchmarkImport(b *testing.B) {
	newServer := func() *Tools {
		p := NewTools("x")
		for i := range 1000 {
			p.Add(Tool{Name: fmt.Sprintf("do-thing-%d", i), Description: "Does the thing, " + strings.Repeat("as it was said. ", 10),
				InputSchema: json.RawMessage(`{"type":"object","properties":{"owner":{"type":"string","description":"Who has it."},
					"repo":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}},"page":{"type":"integer","default":1}},"required":["owner","repo"]}`)}, nil2)
		}
		return p
	}
	load := func(b *testing.B, h *Host) {
		c := begin(b, h, nil)
		for _, fn := range []string{FnModule, FnSpec} {
			if r := do(b, c, fn, map[string]any{"server": "x"}); r.code != answerOK {
				b.Fatal(r.Message)
			}
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			load(b, newHost(b, &Options{Providers: []Provider{newServer()}}))
		}
	})
	b.Run("again", func(b *testing.B) {
		h := newHost(b, &Options{Providers: []Provider{newServer()}})
		for b.Loop() {
			load(b, h)
		}
	})
	b.Run("search", func(b *testing.B) {
		h := newHost(b, &Options{Providers: []Provider{newServer()}})
		for b.Loop() {
			if _, err := h.Search(context.Background(), "labels of thing 17", "", 10); err != nil {
				b.Fatal(err)
			}
		}
	})
}
