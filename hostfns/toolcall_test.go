package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayfly-run/mayfly/hostfns/schema"
)

func TestResults(t *testing.T) {
	p := NewTools("s")
	deep := strings.Repeat("[", 2*schema.MaxDepth) + strings.Repeat("]", 2*schema.MaxDepth)
	results := map[string]*ToolResult{
		"none":       {},
		"text":       text("hello"),
		"badtext":    text("a\xff"),
		"two":        {Content: []Block{{Type: BlockText, Text: "a"}, {Type: BlockText, Text: "b"}}},
		"image":      {Content: []Block{{Type: BlockImage, Data: []byte{1}, MIMEType: "image/png"}}},
		"structured": {Content: []Block{{Type: BlockText, Text: "a"}}, Structured: json.RawMessage(`{"a": 1}`)},
		"both": {Content: []Block{{Type: BlockText, Text: "a"}, {Type: BlockImage, Data: []byte{1}}},
			Structured: json.RawMessage(`{"a":1}`)},
		"array":    {Structured: json.RawMessage(`[1]`)},
		"broken":   {Structured: json.RawMessage(`{"a":`)},
		"failed":   {IsError: true, Content: []Block{{Type: BlockText, Text: "no"}, {Type: BlockText, Text: "way"}}},
		"silent":   {IsError: true},
		"failedas": {IsError: true, Content: []Block{{Type: BlockText, Text: "no"}}, Structured: json.RawMessage(`{"why":1}`)},
		"long":     {IsError: true, Content: []Block{{Type: BlockText, Text: strings.Repeat("x", 10*maxMessage)}}},
		"typed":    {Structured: json.RawMessage(`{"n":1}`)},
		"untyped":  text("no structure"),
		"mistyped": {Structured: json.RawMessage(`{"n":"one"}`)},
		"deep":     {Structured: json.RawMessage(`{"n":1,"more":` + deep + `}`)},
		"wrapped":  {Structured: json.RawMessage(`{"result":[1,2]}`)},
	}
	for name := range results {
		def := Tool{Name: name}
		switch name {
		case "typed", "untyped", "mistyped", "deep":
			def.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		case "wrapped":
			def.OutputSchema = json.RawMessage(`{"type":"object","properties":{"result":{"type":"array"}},"required":["result"]}`)
		}
		p.Add(def, func(context.Context, *ToolCall) (*ToolResult, error) { return results[name], nil })
	}
	raw(p, "nil", func(context.Context, *ToolCall) (*ToolResult, error) { return nil, nil })
	c := begin(t, newHost(t, &Options{Providers: []Provider{p}}), nil)
	for _, tc := range []struct {
		tool string
		kind ValueKind
		body string
		code string
		data string
		say  string
	}{
		{tool: "none", kind: ValueNone},
		{tool: "nil", kind: ValueNone},
		{tool: "text", kind: ValueText, body: "hello"},
		{tool: "badtext", kind: ValueText, body: "a\ufffd"},
		{tool: "two", kind: ValueBlocks, body: "ab"},
		{tool: "image", kind: ValueBlocks, body: "\x01"},
		{tool: "structured", kind: ValueJSON, body: `{"a": 1}`},
		{tool: "both", kind: ValueBlocks, body: "a\x01"},
		{tool: "array", code: CodeInvalidResult},
		{tool: "broken", code: CodeInvalidResult},
		{tool: "failed", code: CodeToolFailed, say: "no\nway"},
		{tool: "silent", code: CodeToolFailed, say: "the tool failed and did not say why"},
		{tool: "failedas", code: CodeToolFailed, say: "no", data: `{"why":1}`},
		{tool: "long", code: CodeToolFailed, say: strings.Repeat("x", maxMessage-3) + "..."},
		{tool: "typed", kind: ValueJSON, body: `{"n":1}`},
		{tool: "untyped", code: CodeInvalidResult},
		{tool: "mistyped", code: CodeInvalidResult, data: `{"n":"one"}`},
		{tool: "deep", kind: ValueJSON, body: `{"n":1,"more":` + deep + `}`}, // too complex to be checked
		{tool: "wrapped", kind: ValueJSON, body: `[1,2]`},
	} {
		r := callTool(t, c, "s", tc.tool, map[string]any{})
		if r.Kind != tc.kind || string(r.body) != tc.body || r.Code != tc.code || string(r.Data) != tc.data ||
			tc.say != "" && r.Message != tc.say {
			t.Errorf("%s: %+v %q", tc.tool, r, r.body)
		}
		if tc.code != "" && (r.Server != "s" || r.Tool != tc.tool) {
			t.Errorf("%s: the error is of %s.%s", tc.tool, r.Server, r.Tool)
		}
	}
}

// TestPolicyOfCalls: what is denied is not called, and says so.
func TestPolicyOfCalls(t *testing.T) {
	yes := true
	calls := atomic.Int64{}
	listed := atomic.Int64{}
	newProvider := func(server string) Provider {
		p := NewTools(server)
		f := func(context.Context, *ToolCall) (*ToolResult, error) {
			calls.Add(1)
			return text("called"), nil
		}
		p.Add(Tool{Name: "read-it", Annotations: Annotations{ReadOnly: &yes}}, f)
		p.Add(Tool{Name: "write-it"}, f)
		return &counted{p, &listed}
	}
	for _, tc := range []struct {
		name     string
		policies [3]*Policy // of host, session, execution
		allowed  string
		starts   bool
	}{
		{"all", [3]*Policy{}, "a.read-it a.write-it b.read-it b.write-it", true},
		{"host", [3]*Policy{{Allow: []string{"a"}}}, "a.read-it a.write-it", true},
		{"session", [3]*Policy{1: {Deny: []string{"*.write*"}}}, "a.read-it b.read-it", true},
		{"execution", [3]*Policy{2: {ReadOnly: true}}, "a.read-it b.read-it", true},
		{"together", [3]*Policy{{Allow: []string{"a.*"}}, {Deny: []string{"a.write_it"}}, {}}, "a.read-it", true},
		{"nothing", [3]*Policy{{Allow: []string{"a.*"}}, {Allow: []string{"b.*"}}}, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls.Store(0)
			listed.Store(0)
			h := newHost(t, &Options{Providers: []Provider{newProvider("a"), newProvider("b")}, Policy: tc.policies[0]})
			s := h.NewSession(tc.policies[1])
			defer s.Close()
			c := s.Begin(context.Background(), &ExecOptions{Policy: tc.policies[2]})
			var allowed []string
			for _, server := range []string{"a", "b"} {
				for _, tool := range []string{"read-it", "write-it"} {
					switch r := callTool(t, c, server, tool, map[string]any{}); r.Code {
					case "":
						allowed = append(allowed, server+"."+tool)
					case CodeDenied:
					default:
						t.Errorf("%s.%s: %+v", server, tool, r)
					}
				}
			}
			if got := strings.Join(allowed, " "); got != tc.allowed || int(calls.Load()) != len(allowed) {
				t.Errorf("allowed %s after %d calls, want %s", got, calls.Load(), tc.allowed)
			}
			if (listed.Load() > 0) != tc.starts {
				t.Errorf("servers were listed %d times", listed.Load())
			}
			records, _ := c.End()
			if len(records) != 4 || records[0].Outcome == "ok" != slices.Contains(allowed, "a.read-it") {
				t.Errorf("records %+v", records)
			}
		})
	}
}

// counted counts listings.
type counted struct {
	Provider
	n *atomic.Int64
}

func (c *counted) Tools(ctx context.Context, server string) (*Listing, error) {
	c.n.Add(1)
	return c.Provider.Tools(ctx, server)
}

func TestRetries(t *testing.T) {
	yes, no := true, false
	unavailable := &Error{Code: CodeUnavailable, Message: "gone"}
	for _, tc := range []struct {
		name   string
		a      Annotations
		policy *Policy
		errs   []error // of the tries; then it works
		calls  int
		took   time.Duration
		code   string
	}{
		{"works", Annotations{Idempotent: &yes}, nil, nil, 1, 0, ""},
		{"idempotent", Annotations{Idempotent: &yes}, nil, []error{unavailable, unavailable}, 3, 300 * time.Millisecond, ""},
		{"read-only", Annotations{ReadOnly: &yes}, nil, []error{unavailable}, 2, 100 * time.Millisecond, ""},
		{"retryable", Annotations{Idempotent: &yes}, nil, []error{&Error{Code: CodeServer, Retryable: true}}, 2, 100 * time.Millisecond, ""},
		{"neither", Annotations{Idempotent: &no}, nil, []error{unavailable}, 1, 0, CodeUnavailable},
		{"not said", Annotations{}, nil, []error{&Error{Code: CodeServer, Retryable: true}}, 1, 0, CodeServer},
		{"another error", Annotations{Idempotent: &yes}, nil, []error{&Error{Code: CodeServer}}, 1, 0, CodeServer},
		{"an error that is none of ours", Annotations{Idempotent: &yes}, nil, []error{errors.New("odd")}, 1, 0, CodeServer},
		{"too often", Annotations{Idempotent: &yes}, &Policy{Retries: 1}, []error{unavailable, unavailable}, 2, 100 * time.Millisecond, CodeUnavailable},
		{"never", Annotations{Idempotent: &yes}, &Policy{Retries: -1}, []error{unavailable}, 1, 0, CodeUnavailable},
		{"when the server says", Annotations{Idempotent: &yes}, nil,
			[]error{&Error{Code: CodeUnavailable, RetryAfter: 2 * time.Second}}, 2, 2 * time.Second, ""},
		{"much later", Annotations{Idempotent: &yes}, nil, []error{&Error{Code: CodeUnavailable, RetryAfter: time.Hour}}, 1, 0, CodeUnavailable},
		{"no time left", Annotations{Idempotent: &yes}, &Policy{CallTimeout: 50 * time.Millisecond}, []error{unavailable}, 1,
			50 * time.Millisecond, CodeTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tools := NewTools("s")
				p := &failing{Provider: tools, errs: tc.errs}
				tools.Add(Tool{Name: "t", Annotations: tc.a}, func(context.Context, *ToolCall) (*ToolResult, error) { return text("ok"), nil })
				c := begin(t, newHost(t, &Options{Providers: []Provider{p}, Policy: tc.policy, Logger: slog.New(slog.DiscardHandler)}), nil)
				began := time.Now()
				r := callTool(t, c, "s", "t", nil)
				if r.Code != tc.code || p.calls != tc.calls || time.Since(began) != tc.took {
					t.Errorf("%+v after %d calls and %v", r, p.calls, time.Since(began))
				}
				if records, _ := c.End(); len(records) != 1 {
					t.Errorf("records %+v", records)
				}
			})
		})
	}
}

// failing returns errors first. (A tool's own error would count as its failure.)
type failing struct {
	Provider
	errs  []error
	calls int
}

func (f *failing) Call(ctx context.Context, c *ToolCall) (*ToolResult, error) {
	f.calls++
	if f.calls <= len(f.errs) {
		return nil, f.errs[f.calls-1]
	}
	return f.Provider.Call(ctx, c)
}
