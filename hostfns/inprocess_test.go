package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type order struct {
	ID    int      `json:"id" jsonschema:"the number of the order"`
	Lines []string `json:"lines,omitempty"`
}

func TestAddTool(t *testing.T) {
	p := NewTools("s")
	AddTool(p, Tool{Name: "object"}, func(_ context.Context, in order) (order, error) { return in, nil })
	AddTool(p, Tool{Name: "pointer"}, func(_ context.Context, in order) (*order, error) { return &in, nil })
	AddTool(p, Tool{Name: "list"}, func(_ context.Context, in order) ([]string, error) { return in.Lines, nil })
	AddTool(p, Tool{Name: "string"}, func(_ context.Context, in order) (string, error) { return "a\"b", nil })
	AddTool(p, Tool{Name: "any"}, func(_ context.Context, in order) (any, error) { return in, nil })
	AddTool(p, Tool{Name: "anything"}, func(_ context.Context, in order) (any, error) { return 7, nil })
	AddTool(p, Tool{Name: "map"}, func(_ context.Context, in map[string]int) (map[string]int, error) { return in, nil })
	AddTool(p, Tool{Name: "blocks"}, func(context.Context, struct{}) ([]Block, error) {
		return []Block{{Type: BlockText, Text: "a"}}, nil
	})
	AddTool(p, Tool{Name: "result"}, func(context.Context, struct{}) (*ToolResult, error) { return text("r"), nil })
	AddTool(p, Tool{Name: "fails"}, func(context.Context, struct{}) (int, error) { return 0, errors.New("no luck") })
	AddTool(p, Tool{Name: "coded"}, func(context.Context, struct{}) (int, error) { return 0, Errorf(CodeRateLimit, "slower") })
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}}), nil)
	for _, tc := range []struct{ tool, args, kind, want string }{
		{"object", `{"id":1,"lines":["a"]}`, "json", `{"id":1,"lines":["a"]}`},
		{"pointer", `{"id":1}`, "json", `{"id":1}`},
		{"list", `{"id":1,"lines":["a","b"]}`, "json", `["a","b"]`},
		{"list", `{"id":1}`, "json", `null`},
		{"string", `{"id":1}`, "json", `"a\"b"`},
		{"any", `{"id":1}`, "json", `{"id":1}`},
		{"anything", `{"id":1}`, "json", `{"result":7}`},
		{"map", `{"x":1}`, "json", `{"x":1}`},
		{"blocks", `{}`, "text", `a`},
		{"result", `{}`, "text", `r`},
		{"fails", `{}`, "", CodeToolFailed},
		{"coded", `{}`, "", CodeRateLimit},
		{"object", `{}`, "", CodeInvalidArguments},
		{"object", `{"id":"x"}`, "", CodeInvalidArguments},
		{"object", `{"id":1,"more":2}`, "", CodeInvalidArguments},
		{"object", `{"id":123456789012345678901234567890}`, "", CodeInvalidArguments},
	} {
		r := callTool(t, c, "s", tc.tool, json.RawMessage(tc.args))
		if got := string(r.body) + r.Code; string(r.Kind) != tc.kind || got != tc.want {
			t.Errorf("%s(%s): %+v %s", tc.tool, tc.args, r, r.body)
		}
	}
	spec := do(t, c, FnSpec, map[string]any{"server": "s", "names": []string{"object"}})
	if !strings.Contains(string(spec.body), "the number of the order") {
		t.Errorf("%s", spec.body)
	}
}

func TestAddPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"no name":     func() { NewTools("s").Add(Tool{}, nil2) },
		"no function": func() { NewTools("s").Add(Tool{Name: "a"}, nil) },
		"no schema": func() {
			AddTool(NewTools("s"), Tool{Name: "a"}, func(context.Context, struct{}) (func(), error) { return nil, nil })
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestAddReplaces: a tool of the same name takes the other's place; a listing that was handed out stays as it is.
func TestAddReplaces(t *testing.T) {
	p := shop("s")
	before, err := p.Tools(context.Background(), "s")
	if err != nil {
		t.Fatal(err)
	}
	raw(p, "class", func(context.Context, *ToolCall) (*ToolResult, error) { return text("new"), nil })
	after, err := p.Tools(context.Background(), "s")
	if err != nil || before.Version == after.Version || len(after.Tools) != 3 || before.Tools[2].Description == "" || after.Tools[2].Description != "" {
		t.Errorf("%v: %+v, %+v", err, before, after)
	}
}
