package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

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
