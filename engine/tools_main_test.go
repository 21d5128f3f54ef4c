package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

// demoTools is a provider of the server "demo", with a tool for each thing that tests need.
func demoTools() *hostfns.Tools {
	p := hostfns.NewTools("demo")
	type sum struct {
		A float64 `json:"a" jsonschema:"the first number"`
		B float64 `json:"b"`
	}
	hostfns.AddTool(p, hostfns.Tool{Name: "get-sum", Description: "Adds two numbers."}, func(_ context.Context, in sum) (float64, error) {
		return in.A + in.B, nil
	})
	type greeting struct {
		Name  string `json:"name"`
		Class string `json:"class,omitempty"`
		Times *int   `json:"times,omitempty"`
	}
	hostfns.AddTool(p, hostfns.Tool{Name: "greet"}, func(_ context.Context, in greeting) (string, error) {
		n := 1
		if in.Times != nil {
			n = *in.Times
		}
		return strings.Repeat("hello "+in.Name+in.Class+"!", n), nil
	})
	p.Add(hostfns.Tool{Name: "echo", Description: "Returns what it is given.", InputSchema: []byte(`{"type":"object","additionalProperties":true}`)},
		func(_ context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
			return &hostfns.ToolResult{Structured: c.Args}, nil
		})
	p.Add(hostfns.Tool{Name: "fail"}, func(context.Context, *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		return nil, errors.New("no such luck")
	})
	p.Add(hostfns.Tool{Name: "wait", Description: "Waits until it is cancelled."},
		func(ctx context.Context, _ *hostfns.ToolCall) (*hostfns.ToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
	type pause struct {
		MS int `json:"ms"`
	}
	hostfns.AddTool(p, hostfns.Tool{Name: "pause", Description: "Waits for some milliseconds."}, func(ctx context.Context, in pause) (int, error) {
		timer := time.NewTimer(time.Duration(in.MS) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
			return in.MS, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	var meeting meeting
	type party struct {
		N int `json:"n"`
	}
	hostfns.AddTool(p, hostfns.Tool{Name: "meet", Description: "Waits until n calls are under way."}, func(ctx context.Context, in party) (int, error) {
		return meeting.join(ctx, in.N)
	})
	p.Add(hostfns.Tool{Name: "media"}, func(context.Context, *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		return &hostfns.ToolResult{Content: []hostfns.Block{
			{Type: hostfns.BlockText, Text: "grüß"},
			{Type: hostfns.BlockImage, Data: []byte("\x89PNG\xff"), MIMEType: "image/png"},
			{Type: hostfns.BlockAudio, Data: []byte{0, 1, 2}, MIMEType: "audio/wav"},
			{Type: hostfns.BlockResource, Text: "ABC", URI: "demo://text", MIMEType: "text/plain"},
			{Type: hostfns.BlockResource, Data: []byte{0xff}, URI: "demo://data"},
			{Type: hostfns.BlockLink, URI: "demo://link", Name: "link"},
		}}, nil
	})
	type size struct {
		N int `json:"n"`
	}
	hostfns.AddTool(p, hostfns.Tool{Name: "large_text"}, func(_ context.Context, in size) (string, error) { return largeText(in.N), nil })
	hostfns.AddTool(p, hostfns.Tool{Name: "large_list"}, func(_ context.Context, in size) ([]int, error) {
		l := make([]int, in.N)
		for i := range l {
			l[i] = i
		}
		return l, nil
	})
	hostfns.AddTool(p, hostfns.Tool{Name: "large_dict"}, func(_ context.Context, in size) (map[string]int, error) {
		m := map[string]int{}
		for i := range in.N {
			m[fmt.Sprintf("key %d", i)] = i
		}
		return m, nil
	})
	return p
}

// largeText has n lines.
func largeText(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d: grün%s\n", i, strings.Repeat(".", i%40))
	}
	return b.String()
}

// toolHost is a host of providers.
func toolHost(t testing.TB, o *hostfns.Options) *hostfns.Host {
	t.Helper()
	h, err := hostfns.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// toolSession is a session of the shared engine whose executions have a host.
type toolSession struct {
	*engine.Session
	t    testing.TB
	host *hostfns.Host
}

func newToolSession(t testing.TB, o *hostfns.Options) *toolSession {
	t.Helper()
	if o == nil {
		o = &hostfns.Options{}
	}
	if o.Providers == nil {
		o.Providers = []hostfns.Provider{demoTools()}
	}
	h := toolHost(t, o)
	return &toolSession{newSession(t, nil), t, h}
}

func (s *toolSession) exec(code string) *engine.Result {
	s.t.Helper()
	return execRequest(s.t, s.Session, engine.Request{Code: code, Host: s.host})
}

// ok runs code that has to end well.
func (s *toolSession) ok(code string) *engine.Result {
	s.t.Helper()
	r := s.exec(code)
	if r.Error != nil {
		s.t.Fatalf("%s\n%s\n%s", code, r.Error.Traceback, r.Error.Hint)
	}
	return r
}

func (s *toolSession) want(code, repr string) {
	s.t.Helper()
	if r := s.exec(code); r.Status != engine.StatusOK || r.ResultRepr != repr {
		s.t.Errorf("%s\ngave %s, %s %q, want %s", code, describe(r), r.Status, r.ResultRepr, repr)
	}
}

// fails runs code that has to raise an error whose message or traceback has all parts.
func (s *toolSession) fails(code, kind string, parts ...string) *engine.Result {
	s.t.Helper()
	r := s.exec(code)
	if r.Error == nil || r.Error.Type != kind {
		s.t.Errorf("%s\ngave %s, want %s", code, describe(r), kind)
		return r
	}
	all := r.Error.Message + "\n" + r.Error.Traceback + "\n" + r.Error.Hint
	for _, part := range parts {
		if !strings.Contains(all, part) {
			s.t.Errorf("%s\nno %q in\n%s", code, part, all)
		}
	}
	return r
}

// meeting lets calls wait for each other.
type meeting struct {
	mu   sync.Mutex
	here int
	full chan struct{}
}

func (m *meeting) join(ctx context.Context, n int) (int, error) {
	m.mu.Lock()
	if m.full == nil {
		m.full = make(chan struct{})
	}
	full := m.full
	if m.here++; m.here == n {
		m.here, m.full = 0, nil
		close(full)
	}
	m.mu.Unlock()
	select {
	case <-full:
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
