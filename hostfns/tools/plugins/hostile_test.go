package plugins

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/hostfns"
)

// cache is shared by all tests: compiling is what takes them long.
var cache string

func TestMain(m *testing.M) {
	var err error
	if cache, err = os.MkdirTemp("", ""); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(cache)
		os.Exit(code)
	}))
}

func cached(o *Options) *Options {
	if o == nil {
		o = &Options{}
	}
	with := *o
	with.CacheDir = cache
	return &with
}

func open(t testing.TB, o *Options, files map[string]any) *Plugins {
	t.Helper()
	p, err := New(dir(t, files), cached(o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func invoke(ctx context.Context, p *Plugins, tool, args string, emit func(hostfns.Event)) (*hostfns.ToolResult, error) {
	return p.Call(ctx, &hostfns.ToolCall{Server: "bad", Tool: tool, Args: json.RawMessage(args), Emit: emit})
}

func code(err error) string {
	var e *hostfns.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// hour is a WASI subscription to an hour on the monotonic clock.
var hour = func() []byte {
	b := make([]byte, 48)
	b[16] = 1
	binary.LittleEndian.PutUint64(b[24:], uint64(time.Hour))
	return b
}()

// corrupt makes the block at local 0 of the host's memory its own successor.
var corrupt = cat(text("x"), localGet, 0, constI64, num(8), subI64, constI64, num(int64(-12)&0xffffffff|1<<32), call, fStore)

var badModule = &mod{
	data:   hour,
	tables: cat(1, 0x70, 0, 0),
	funcs: []fn{
		{"good", tI32, cat(echo, ok)},
		{"forever", tNone, cat(text("start"), localGet, 0, call, fLog, forever)},
		{"sleep", tI32, cat(text("start"), localGet, 0, call, fLog, constI32, 0, constI32, num(64), constI32, 1, constI32, num(128), call, fPoll, drop, forever, ok)},
		{"trap", tNone, cat(unreachable)},
		{"recurse", tNone, cat(call, imports+4)},
		{"exit3", tNone, cat(constI32, 3, call, fExit)},
		{"exit0", tNone, cat(constI32, 0, call, fExit)},
		{"seven", tI32, cat(constI32, 7)},
		{"says", tI32, cat(text("no luck"), localGet, 0, call, fErrorSet, constI32, 1)},
		{"grow", tNone, cat(loop, void, constI32, num(100), memoryGrow, 0, constI32, num(-1), 0x47, brIf, 0, end, unreachable)},
		{"alloc", tNone, cat(loop, void, constI64, num(1<<20), call, fAlloc, 0x50, 0x45, brIf, 0, end, unreachable)},
		{"gigabyte", tI32, cat(constI64, num(1<<30), call, fAlloc, constI64, num(1<<30), call, fOutputSet, ok)},
		{"claims", tI32, cat(constI64, 0, constI64, num(1<<31), call, fOutputSet, ok)},
		{"eight", tI32, cat(constI64, num(8<<20), call, fAlloc, localTee, 0, drop, output, ok)},
		{"tables", tNone, cat(loop, void, 0xd0, 0x70, constI32, num(1000), 0xfc, 15, 0, constI32, num(-1), 0x47, brIf, 0, end, unreachable)},
		{"corrupt", tI32, cat(text("start"), localGet, 0, call, fLog, corrupt, localGet, 0, constI64, 1, addI64, call, fConfig, drop, ok)},
		{"corrupt2", tI32, cat(text("start"), localGet, 0, call, fLog, corrupt, localGet, 0, constI64, 1, addI64, call, fLength, drop, ok)},
		{"badlog", tI32, cat(constI64, num(-1), call, fLog, constI64, num(1<<40), call, fLog, ok)},
		{"logs", tNone, cat(loop, void, text("again"), localGet, 0, call, fLog, br, 0, end)},
		{"http", tI32, cat(get, ok)},
	},
}

var modes = map[string]*Options{
	"fresh":  {MaxMemory: 16 << 20, MaxOutput: 4 << 20},
	"reused": {MaxMemory: 16 << 20, MaxOutput: 4 << 20, Reuse: true},
}

func checkGood(t *testing.T, p *Plugins, after string) {
	t.Helper()
	if r, err := invoke(t.Context(), p, "good", `{"input":"hi"}`, nil); err != nil || len(r.Content) != 1 || r.Content[0].Text != "hi" {
		t.Errorf("after %s: %+v, %v", after, r, err)
	}
}

func TestHostilePlugins(t *testing.T) {
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			p := open(t, o, map[string]any{"bad.wasm": badModule})
			for _, c := range []struct{ tool, code, message string }{
				{"trap", hostfns.CodeServer, "unreachable"},
				{"recurse", hostfns.CodeServer, "stack overflow"},
				{"exit3", hostfns.CodeServer, "exited with code 3"},
				{"exit0", "", ""},
				{"seven", hostfns.CodeToolFailed, "returned 7"},
				{"says", hostfns.CodeToolFailed, "no luck"},
				{"grow", hostfns.CodeServer, "unreachable"},
				{"alloc", hostfns.CodeServer, "unreachable"},
				{"gigabyte", "", ""}, // it gets no memory, so that there is nothing
				{"claims", "", ""},
				{"eight", hostfns.CodeTooLarge, "8388608 bytes"},
				{"tables", hostfns.CodeServer, "unreachable"},
				{"badlog", hostfns.CodeToolFailed, "outside of its memory"},
				{"http", hostfns.CodeToolFailed, "HTTP request"},
				{"nothing", hostfns.CodeUnknownTool, "nothing"},
			} {
				r, err := invoke(t.Context(), p, c.tool, `{"input":{"url":"http://127.0.0.1/"}}`, nil)
				if code(err) != c.code || err != nil && !strings.Contains(err.Error(), c.message) {
					t.Errorf("%s: %+v, %v; want %s", c.tool, r, err, c.code)
				}
				if err != nil && len(err.Error()) > 4096 {
					t.Errorf("%s: an error of %d bytes", c.tool, len(err.Error()))
				}
				if r != nil && len(r.Content) == 1 && r.Content[0].Text != "" {
					t.Errorf("%s: a text of %d bytes", c.tool, len(r.Content[0].Text))
				}
				checkGood(t, p, c.tool)
			}
			huge, _ := json.Marshal(map[string]string{"input": strings.Repeat("x", 9<<20)})
			if _, err := invoke(t.Context(), p, "good", string(huge), nil); code(err) != hostfns.CodeTooLarge {
				t.Errorf("huge arguments: %v", err)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	p := open(t, nil, map[string]any{"bad.wasm": badModule, "bad.json": `{"timeout_ms": 50}`})
	for _, tool := range []string{"forever", "sleep"} {
		if _, err := invoke(t.Context(), p, tool, "{}", nil); code(err) != hostfns.CodeTimeout || !strings.Contains(err.Error(), "took too long") {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

// TestCancel: a call that computes, sleeps, logs for ever or spins in the SDK ends with its context, and does not hold up
// the collector before.
func TestCancel(t *testing.T) {
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			p := open(t, o, map[string]any{"bad.wasm": badModule})
			for _, tool := range []string{"forever", "sleep", "logs", "corrupt", "corrupt2"} {
				ctx, cancel := context.WithCancel(t.Context())
				started, done := make(chan struct{}), make(chan error, 1)
				events := 0
				go func() {
					_, err := invoke(ctx, p, tool, "{}", func(e hostfns.Event) {
						if events++; events == 1 {
							if tool != "logs" && (e.Kind != hostfns.EventLog || string(e.Data) != `{"data":"start","level":"info","logger":"bad","server":"bad"}`) {
								t.Errorf("event %s %s", e.Kind, e.Data)
							}
							close(started)
						}
					})
					done <- err
				}()
				<-started
				for range 3 {
					runtime.GC()
				}
				cancel()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", tool, err)
				}
				if events > maxLogs {
					t.Errorf("%s: %d messages", tool, events)
				}
				checkGood(t, p, tool)
			}
		})
	}
}

func TestCloseEndsCalls(t *testing.T) {
	p := open(t, &Options{MaxParallel: 1}, map[string]any{"bad.wasm": badModule})
	started, done := make(chan struct{}), make(chan error, 2)
	go func() {
		_, err := invoke(context.Background(), p, "forever", "{}", func(hostfns.Event) { close(started) })
		done <- err
	}()
	<-started
	go func() { // waits for its turn, or comes too late
		_, err := invoke(context.Background(), p, "forever", "{}", nil)
		done <- err
	}()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := <-done; code(err) != hostfns.CodeUnavailable {
			t.Error(err)
		}
	}
	if _, err := p.Tools(t.Context(), "bad"); code(err) != hostfns.CodeUnavailable {
		t.Error(err)
	}
}

func TestHostileDescribe(t *testing.T) {
	long := `[{"name":"` + strings.Repeat("x", 300) + `"}]`
	for name, c := range map[string]struct {
		code    []byte
		message string
	}{
		"loops":    {forever, "too long"},
		"traps":    {cat(unreachable), "unreachable"},
		"nothing":  {nil, "no list of tools"},
		"fails":    {cat(text("sorry"), localGet, 0, call, fErrorSet), "sorry"},
		"no JSON":  {cat(text("[[[[["), output), "no list of tools"},
		"empty":    {cat(text("[]"), output), "lists no tools"},
		"no tools": {cat(text("{}"), output), "lists no tools"},
		"no name":  {cat(text("[{}]"), output), "name is missing"},
	} {
		o := &Options{}
		if name == "loops" {
			o.Timeout = 100 * time.Millisecond
		}
		p := open(t, o, map[string]any{
			"bad.wasm": &mod{funcs: []fn{{"describe", tNone, c.code}, {"call", tNone, nil}}},
		})
		l, err := p.Tools(t.Context(), "bad")
		if l != nil || err == nil || !strings.Contains(err.Error(), c.message) || !strings.Contains(err.Error(), "plug-in bad") {
			t.Errorf("%s: %v, %v", name, l, err)
		}
	}
	for _, text := range []string{long, `[{"name":"a"},{"name":"a"}]`, `[{"name":"a","inputSchema":[]}]`, `[{"name":"a","outputSchema":"x"}]`,
		`[{"name":1}]`, `{"tools":{}}`, `[`, ``, `null`, `[` + strings.Repeat(`{"name":"x"},`, 3) + `{"name":"y"}]`} {
		if s, err := parseTools([]byte(text)); err == nil {
			t.Errorf("%.50s: %+v", text, s.listing)
		}
	}
}

func TestStartFunction(t *testing.T) {
	for name, body := range map[string][]byte{"loops": forever, "traps": {unreachable}, "calls": cat(text("x")), "exits": cat(constI32, 1, call, fExit)} {
		p := open(t, &Options{Timeout: 200 * time.Millisecond}, map[string]any{
			"bad.wasm": &mod{start: "start", funcs: []fn{{"start", tNone, body}, {"good", tNone, echo}}},
		})
		if _, err := invoke(t.Context(), p, "good", "{}", nil); code(err) != hostfns.CodeServer && code(err) != hostfns.CodeTimeout {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzPrepare(f *testing.F) {
	f.Add(badModule.bytes())
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x04\x05\x01\x70\x01\x00\x05"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		p, err := prepare(wasm, []string{"lib"})
		if err != nil {
			return
		}
		again, err := prepare(p.wasm, []string{"lib", ours})
		if err != nil || len(again.exports) != len(p.exports) {
			t.Fatalf("what was rewritten is not understood: %v", err)
		}
	})
}

func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"content":[{"type":"text","text":"x"},{"type":"image","data":"AAA=","mimeType":"a/b"}],"isError":true}`))
	f.Add([]byte(`[{"name":"a","inputSchema":{},"annotations":{"readOnlyHint":true}}]`))
	f.Add([]byte(`{"tools":[{"name":"a"}],"title":"x"}`))
	f.Add([]byte(`{"wasm":[{"path":"a.wasm","hash":""}],"memory":{"max_pages":4},"allowed_paths":{"ro:a":"/b"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseManifest(b)
		if s, err := parseTools(b); err == nil && (s.listing.Version == "" || len(s.tools) != len(s.listing.Tools)) {
			t.Fatalf("%+v", s)
		}
		if r, err := parseResult(b); err == nil && len(r.Structured) > 0 && !json.Valid(r.Structured) {
			t.Fatalf("%+v", r)
		}
		if r := result(b); len(r.Structured) > 0 && !json.Valid(r.Structured) {
			t.Fatalf("%+v", r)
		}
	})
}
