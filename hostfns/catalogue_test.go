package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

func TestHostCatalogue(t *testing.T) {
	ctx := context.Background()
	h := newHost(t, &Options{Providers: []Provider{shop("web-shop"), adder(), listsBadly{}}, Policy: &Policy{Deny: []string{"*.cancel*", "panics", "nothing", "fails"}}})
	if got := fmt.Sprint(h.Servers()); got != "[{fails fails} {math math} {nothing nothing} {panics panics} {says says} {web-shop web_shop}]" {
		t.Errorf("servers %s", got)
	}
	l, err := h.Listing(ctx, "web_shop", true)
	if err != nil || len(l.Tools) != 3 {
		t.Errorf("%v %v", l, err)
	}
	if _, err := h.Listing(ctx, "none", false); err == nil {
		t.Error("a listing of nothing")
	}
	if _, err := h.Listing(ctx, "panics", false); err == nil {
		t.Error("a listing of what panics")
	}
	sigs, err := h.Signatures(ctx, "web-shop")
	if err != nil || len(sigs) != 2 || sigs[0].Name != "list_orders" {
		t.Errorf("%v %v", sigs, err)
	}
	found, err := h.Search(ctx, "orders", "", 0)
	if len(found) != 1 || err == nil || !strings.Contains(err.Error(), "says: timeout") {
		t.Errorf("%v %v", found, err)
	}
	var stubs bytes.Buffer
	if err := h.Stubs(ctx, &stubs); err == nil || !strings.Contains(stubs.String(), "list_orders") || strings.Contains(stubs.String(), "cancel") {
		t.Errorf("%v\n%s", err, &stubs)
	}
	text, err := h.Describe(ctx, "math.add")
	if err != nil || !strings.Contains(text, "Adds.") {
		t.Errorf("%q %v", text, err)
	}
}

func TestHostCallTool(t *testing.T) {
	ctx := context.Background()
	p := NewTools("my-math")
	AddTool(p, Tool{Name: "add-up"}, func(_ context.Context, in addArgs) (int, error) { return in.A + in.B, nil })
	raw(p, "big", func(context.Context, *ToolCall) (*ToolResult, error) { return text(strings.Repeat("x", 5000)), nil })
	raw(p, "tells", func(ctx context.Context, c *ToolCall) (*ToolResult, error) {
		c.Emit(Event{EventLog, json.RawMessage(`{}`)})
		r, err := c.Ask(ctx, &Question{Message: "?"})
		if err != nil {
			return nil, err
		}
		return text(r.Action), nil
	})
	h := newHost(t, &Options{Providers: []Provider{p}, MaxInline: 100, Policy: &Policy{Deny: []string{"*.denied"}, MaxCalls: 1}})
	for _, name := range [][2]string{{"my-math", "add-up"}, {"my_math", "add_up"}} {
		v, err := h.CallTool(ctx, &ToolCall{Server: name[0], Tool: name[1], Args: json.RawMessage(`{"a":1,"b":2}`)})
		if err != nil || v.Kind != ValueJSON || string(v.Data) != "3" {
			t.Errorf("%s: %+v %v", name, v, err)
		}
	}
	if v, err := h.CallTool(ctx, &ToolCall{Server: "my-math", Tool: "big"}); err != nil || len(v.Data) != 5000 {
		t.Errorf("%+v %v", v, err)
	}
	events := 0
	v, err := h.CallTool(ctx, &ToolCall{Server: "my-math", Tool: "tells", Emit: func(Event) { events++ },
		Ask: func(context.Context, *Question) (*Reply, error) { return &Reply{Action: ActionAccept}, nil }})
	if err != nil || string(v.Data) != ActionAccept || events != 1 {
		t.Errorf("%+v %v, %d events", v, err, events)
	}
	for _, tc := range []struct{ server, tool, args, code string }{
		{"none", "x", "{}", CodeUnavailable}, {"my-math", "x", "{}", CodeUnknownTool}, {"my-math", "add-up", `{"a":"x"}`, CodeInvalidArguments},
		{"my-math", "add-up", `{`, CodeInvalidArguments}, {"my-math", "add-up", "\"\xff\"", CodeInvalidArguments},
	} {
		_, err := h.CallTool(ctx, &ToolCall{Server: tc.server, Tool: tc.tool, Args: json.RawMessage(tc.args)})
		if e := (*Error)(nil); !errors.As(err, &e) || e.Code != tc.code {
			t.Errorf("%+v: %v", tc, err)
		}
	}
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

func (f *fixed) Servers() []string                                    { return []string{"fixed"} }
func (f *fixed) Tools(context.Context, string) (*Listing, error)      { return f.l, nil }
func (f *fixed) Call(context.Context, *ToolCall) (*ToolResult, error) { return &ToolResult{}, nil }
func (f *fixed) Close() error                                         { return nil }

func TestNewErrors(t *testing.T) {
	f := func(context.Context, *FunctionCall) (*Value, error) { return nil, nil }
	for name, o := range map[string]*Options{
		"two servers of one name":    {Providers: []Provider{NewTools("a"), NewTools("a")}},
		"no name":                    {Providers: []Provider{NewTools("")}},
		"a name that is no text":     {Providers: []Provider{NewTools("a\xff")}},
		"a long name":                {Providers: []Provider{NewTools(strings.Repeat("x", maxName+1))}},
		"names that look like tools": {Providers: []Provider{NewTools("a"), NewTools("a.b")}},
		"modules that look like it":  {Providers: []Provider{NewTools("a-b"), NewTools("a_b.c")}},
		"a function's name is taken": {Functions: map[string]Function{FnTool: f}},
		"a function without a name":  {Functions: map[string]Function{"": f}},
		"no function":                {Functions: map[string]Function{"x": nil}},
	} {
		if h, err := New(o); err == nil || h != nil {
			t.Errorf("%s: no error", name)
		}
	}
	h := newHost(t, &Options{Providers: []Provider{NewTools("a.b"), NewTools("a-b"), NewTools("a_b")}})
	modules := map[string]bool{}
	for _, s := range h.Servers() {
		modules[s.Module] = true
		if s.Name == "a_b" && s.Module != "a_b" {
			t.Errorf("%+v: a name that is one already is taken from it", s)
		}
	}
	if len(modules) != 3 {
		t.Errorf("modules %v", modules)
	}
}

func TestHostClose(t *testing.T) {
	var closed atomic.Int64
	bad := errors.New("will not close")
	h, err := New(&Options{Providers: []Provider{&closing{NewTools("a"), &closed, nil}, &closing{NewTools("b"), &closed, bad}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := h.Close(); !errors.Is(err, bad) {
			t.Errorf("%v", err)
		}
	}
	if closed.Load() != 2 {
		t.Errorf("closed %d times", closed.Load())
	}
}

type closing struct {
	Provider
	n   *atomic.Int64
	err error
}

func (c *closing) Close() error {
	c.n.Add(1)
	return c.err
}

func TestNearest(t *testing.T) {
	known := []string{"create_issue", "create_pull_request", "list_issues", "get_file_contents", "x"}
	for name, want := range map[string]string{
		"createIssue": "create_issue", "create-isue": "create_issue", "issues": "list_issues", "get_file": "get_file_contents",
		"": "x", "completely different": "", "y": "x", strings.Repeat("z", 10_000): "",
	} {
		if got := strings.Join(nearest(name, known, 1), ","); got != want {
			t.Errorf("%.50q: %q, want %q", name, got, want)
		}
	}
}
