package plugins

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

var echoModule = &mod{funcs: []fn{
	{"echo", tI32, cat(echo, ok)}, {"again", tNone, echo}, {"args", tParam, cat(constI32, 0)},
	{"_private", tNone, nil}, {"asyncify_stop_unwind", tNone, nil},
}}

func hash(m *mod) string {
	sum := sha256.Sum256(m.bytes())
	return hex.EncodeToString(sum[:])
}

func TestDirectory(t *testing.T) {
	user := &mod{imports: []imp{{"lib", "echo", tI32}}, funcs: []fn{{"run", tI32, cat(call, imports)}}}
	d := map[string]any{
		"a.wasm":       echoModule,
		"b.json":       `{"wasm": [{"path": "./b-module.bin", "hash": "` + strings.ToUpper(hash(echoModule)) + `"}], "timeout_ms": 60000}`,
		"b-module.bin": echoModule,
		"c.json":       `{"wasm": [{"data": "` + base64.StdEncoding.EncodeToString(echoModule.bytes()) + `"}]}`,
		"d.json":       `{"memory": {"max_pages": 16, "max_var_bytes": 0, "max_http_response_bytes": 1}}`,
		"d.wasm":       echoModule,
		"d.tools.json": `{"title": "D", "instructions": "Use it.", "tools": [{"name": "x y", "export": "echo", "inputSchema": {"type": "object"},
			"outputSchema": null, "annotations": {"readOnlyHint": true}, "icons": []}, {"name": "gone", "export": "nothing"}, {"name": "absent"}]}`,
		"e.json":    `{"wasm": [{"path": "lib.wasm", "name": "lib"}, {"path": "e.wasm"}]}`,
		"e.wasm":    user,
		"lib.wasm":  echoModule,
		".hidden":   "x",
		"README.md": "x",
	}
	p := open(t, nil, d)
	if got := p.Servers(); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
		t.Fatalf("servers %q", got)
	}
	for server, want := range map[string]string{"a": "again echo", "b": "again echo", "c": "again echo", "d": "x y gone absent", "e": "run"} {
		l, err := p.Tools(t.Context(), server)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, d := range l.Tools {
			names = append(names, d.Name)
		}
		if got := strings.Join(names, " "); got != want || l.Version == "" {
			t.Errorf("%s has %q, version %q; want %q", server, got, l.Version, want)
		}
	}
	l, err := p.Tools(t.Context(), "d")
	if err != nil || l.Title != "D" || l.Instructions != "Use it." || l.Tools[0].OutputSchema != nil || l.Tools[0].Annotations.ReadOnly == nil {
		t.Errorf("%+v, %v", l, err)
	}
	for _, c := range []struct{ server, tool, args, text, structured string }{
		{"a", "echo", `{"input": "te\nxt"}`, "te\nxt", ""},
		{"a", "echo", `{"input": {"n": 12345678901234567890}}`, "", `{"n": 12345678901234567890}`},
		{"a", "again", `{"input": [1, "x"]}`, `[1, "x"]`, ""},
		{"a", "echo", `{}`, "", ""},
		{"a", "echo", `{"input": null}`, "null", ""},
		{"b", "echo", `{"input": "{broken"}`, "{broken", ""},
		{"c", "echo", `{"input": ""}`, "", ""},
		{"d", "x y", `{"a": "b"}`, "", `{"a": "b"}`},
		{"d", "x y", ``, "", `{}`},
		{"e", "run", `{"input": "through a library"}`, "through a library", ""},
	} {
		r, err := p.Call(t.Context(), &hostfns.ToolCall{Server: c.server, Tool: c.tool, Args: json.RawMessage(c.args)})
		if err != nil {
			t.Errorf("%s.%s: %v", c.server, c.tool, err)
			continue
		}
		if string(r.Structured) != c.structured || c.structured == "" && (len(r.Content) != 1 || r.Content[0].Text != c.text) {
			t.Errorf("%s.%s(%s) = %+v", c.server, c.tool, c.args, r)
		}
	}
	for tool, want := range map[string]string{"gone": `no export "nothing"`, "absent": `exports neither "absent" nor "call"`} {
		_, err := p.Call(t.Context(), &hostfns.ToolCall{Server: "d", Tool: tool})
		if code(err) != hostfns.CodeServer || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", tool, err)
		}
	}
}

func TestResultIsNoText(t *testing.T) {
	p := open(t, nil, map[string]any{"a.wasm": &mod{funcs: []fn{{"bytes", tNone, cat(text("\xff\xfe"), output)}}}})
	r, err := p.Call(t.Context(), &hostfns.ToolCall{Server: "a", Tool: "bytes"})
	if err != nil || len(r.Content) != 1 || r.Content[0].Type != hostfns.BlockResource || !bytes.Equal(r.Content[0].Data, []byte{0xff, 0xfe}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestBadDirectories(t *testing.T) {
	for _, c := range []struct {
		files map[string]any
		want  string
	}{
		{map[string]any{"a.json": `{`}, "a.json: no manifest"},
		{map[string]any{"a.json": `{} {}`, "a.wasm": echoModule}, "a.json: no manifest"},
		{map[string]any{"a.json": `{}`}, "a.json: it names no module"},
		{map[string]any{"a.json": `{"allowed_host": ["x"]}`, "a.wasm": echoModule}, "allowed_host"},
		{map[string]any{"a.json": `{"wasm": [{"url": "https://x/a.wasm"}]}`}, "a.json: wasm[0]: modules are not fetched"},
		{map[string]any{"a.json": `{"wasm": [{}]}`}, "either path or data"},
		{map[string]any{"a.json": `{"wasm": [{"path": "../a.wasm"}]}`}, "inside its directory"},
		{map[string]any{"a.json": `{"wasm": [{"path": "/a.wasm"}]}`}, "inside its directory"},
		{map[string]any{"a.json": `{"wasm": [{"path": "a.wasm", "hash": "abc"}]}`}, "64 hexadecimal"},
		{map[string]any{"a.json": `{"wasm": [{"path": "a.wasm", "method": "GET"}]}`}, "for a URL"},
		{map[string]any{"a.json": `{"memory": {"max_pages": 15}}`, "a.wasm": echoModule}, "max_pages"},
		{map[string]any{"a.json": `{"memory": {"max_var_bytes": -1}}`, "a.wasm": echoModule}, "number of bytes"},
		{map[string]any{"a.json": `{"allowed_hosts": ["["]}`, "a.wasm": echoModule}, "allowed_hosts"},
		{map[string]any{"a.json": `{"allowed_hosts": ["a:80"]}`, "a.wasm": echoModule}, "allowed_hosts"},
		{map[string]any{"a.json": `{"allowed_paths": {"x": "y"}}`, "a.wasm": echoModule}, "allowed_paths"},
		{map[string]any{"a.tools.json": `[{"name": "x"}]`}, "a.tools.json: there is no plug-in a"},
		{map[string]any{"a.tools.json": `[{}]`, "a.wasm": echoModule}, "a.tools.json: tools[0]"},
		{map[string]any{"a.b.wasm": echoModule}, "a.b.wasm: the name of a plug-in"},
	} {
		p, err := New(dir(t, c.files), nil)
		if p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.files, err, c.want)
		}
	}
	if _, err := New(filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a directory that does not exist")
	}
	t.Setenv(outputVariable, "")
	if _, err := New(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), outputVariable) {
		t.Errorf("plug-ins get the standard output: %v", err)
	}
}

// TestBadModules: a module is read when it is used, and then the error names it.
func TestBadModules(t *testing.T) {
	m := echoModule.bytes()
	for name, c := range map[string]struct {
		files map[string]any
		want  string
	}{
		"no module":  {map[string]any{"a.wasm": "x"}, "a.wasm: not a WebAssembly module"},
		"cut":        {map[string]any{"a.wasm": m[:len(m)-5]}, "a.wasm: not a WebAssembly module"},
		"invalid":    {map[string]any{"a.wasm": &mod{funcs: []fn{{"x", tI32, nil}}}}, "a.wasm cannot be compiled"},
		"import":     {map[string]any{"a.wasm": &mod{imports: []imp{{"env", "x", tNone}}}}, `a.wasm: it imports "x" from "env"`},
		"ours":       {map[string]any{"a.wasm": &mod{imports: []imp{{ours, "x", tNone}}}}, `imports "x" from "mayfly:plugin"`},
		"hash":       {map[string]any{"a.wasm": m, "a.json": `{"wasm": [{"path": "a.wasm", "hash": "` + strings.Repeat("0", 64) + `"}]}`}, "a.wasm: its hash"},
		"missing":    {map[string]any{"a.json": `{"wasm": [{"path": "b.wasm"}]}`}, "b.wasm: no such file"},
		"no tools":   {map[string]any{"a.wasm": &mod{}}, "a.wasm: it has no tools"},
		"table":      {map[string]any{"a.wasm": &mod{tables: cat(1, 0x70, 0, appendU32(nil, maxTable+1))}}, "table of more than"},
		"two mains":  {map[string]any{"a.json": `{"wasm": [{"path": "b.wasm"}, {"path": "b.wasm"}]}`, "b.wasm": m}, "all but the main one need a name"},
		"paths":      {map[string]any{"a.wasm": m, "a.json": `{"allowed_paths": {"none": "/x"}}`}, "a.json: allowed_paths"},
		"secret":     {map[string]any{"a.wasm": m, "a.json": `{"config": {"k": "${secret:NONE}"}}`}, `a.json: config "k"`},
		"wrong type": {map[string]any{"a.wasm": &mod{imports: []imp{{extismEnv, "log_warn", tI32}}, funcs: []fn{{"describe", tNone, nil}}}}, "log_warn"},
	} {
		p := open(t, nil, c.files)
		_, err := p.Tools(t.Context(), "a")
		if code(err) != hostfns.CodeServer || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestLinksOutOfDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	outside := filepath.Join(dir(t, map[string]any{"x.wasm": echoModule}), "x.wasm")
	d := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(d, "a.wasm")); err != nil {
		t.Fatal(err)
	}
	p, err := New(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Tools(t.Context(), "a"); err == nil {
		t.Error("a link led out of the directory")
	}
}

func TestCache(t *testing.T) {
	cache := t.TempDir()
	for range 2 {
		p, err := New(dir(t, map[string]any{"a.wasm": echoModule}), &Options{CacheDir: cache})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Call(t.Context(), &hostfns.ToolCall{Server: "a", Tool: "echo"}); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if err := filepath.WalkDir(cache, func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	}); err != nil || n == 0 {
		t.Errorf("%d files, %v", n, err)
	}
	if _, err := New(t.TempDir(), &Options{CacheDir: filepath.Join(cache, "\x00")}); err == nil {
		t.Error("a cache that cannot be")
	}
}

func TestHTTP(t *testing.T) {
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("other")) }))
	defer other.Close()
	elsewhere := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.Header.Get("X-A"))
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, elsewhere, http.StatusFound)
		case "/near":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, 1001))
		default:
			_, _ = w.Write([]byte("hello"))
		}
	}))
	defer server.Close()
	module := &mod{funcs: []fn{{"get", tI32, cat(get, ok)}, {"status", tI32, cat(get, call, fStatus)}}}
	manifest := func(hosts string) string {
		return `{"memory": {"max_http_response_bytes": 1000}, "allowed_hosts": ` + hosts + `}`
	}
	p := open(t, nil, map[string]any{
		"named.wasm": module, "named.json": manifest(`["127.0.0.1"]`),
		"wild.wasm": module, "wild.json": manifest(`["127.0.*", "local*"]`),
		"none.wasm": module,
	})
	defer func() { // before the servers are closed, which wait for connections
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct{ server, tool, url, want string }{
		{"named", "get", server.URL, "hello"},
		{"named", "get", server.URL + "/near", "other"},
		{"named", "status", server.URL, "returned 200: hello"},
		{"named", "get", server.URL + "/away?key=hush", `"localhost" is not in allowed_hosts of named.json`},
		{"named", "get", elsewhere, `"localhost" is not in allowed_hosts`},
		{"named", "get", server.URL + "/loop", "more than 10 redirects"},
		{"named", "get", server.URL + "/large", "more than 1000 bytes"},
		{"named", "get", "file:///etc/passwd", "scheme"},
		{"named", "get", "http://127.0.0.1:1/?key=hush", "connect"},
		{"named", "get", "http://[", ""},
		{"wild", "get", server.URL, "not public"},
		{"wild", "get", elsewhere, "not public"},
		{"none", "get", server.URL, "not in allowed_hosts of none.json"},
	} {
		args, _ := json.Marshal(map[string]any{"input": map[string]any{"url": c.url, "method": "post", "headers": map[string]string{"X-A": "b"}}})
		r, err := p.Call(t.Context(), &hostfns.ToolCall{Server: c.server, Tool: c.tool, Args: args})
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = r.Content[0].Text
		}
		if !strings.Contains(got, c.want) || strings.Contains(got, "hush") || err != nil && code(err) != hostfns.CodeToolFailed {
			t.Errorf("%s.%s %s: %q, want %q", c.server, c.tool, c.url, got, c.want)
		}
	}
	if len(seen) == 0 || seen[0] != "POST b" {
		t.Errorf("the server saw %q", seen)
	}
}

type answers struct{}

func (answers) RoundTrip(*http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	_, _ = rec.WriteString("from the transport")
	return rec.Result(), nil
}

// TestImpatientCaller: compiling goes on for the next one.
func TestImpatientCaller(t *testing.T) {
	p := open(t, nil, map[string]any{"a.wasm": echoModule})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		if _, err := p.Call(ctx, &hostfns.ToolCall{Server: "a", Tool: "echo"}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if _, err := p.Call(t.Context(), &hostfns.ToolCall{Server: "a", Tool: "echo"}); err != nil {
		t.Error(err)
	}
}

func TestTransport(t *testing.T) {
	p := open(t, &Options{Transport: answers{}}, map[string]any{
		"a.wasm": &mod{funcs: []fn{{"get", tI32, cat(get, ok)}}}, "a.json": `{"allowed_hosts": ["*.example"]}`,
	})
	for url, want := range map[string]string{"http://a.example": "", "http://example": hostfns.CodeToolFailed} {
		_, err := p.Call(t.Context(), &hostfns.ToolCall{Server: "a", Tool: "get", Args: json.RawMessage(`{"input":{"url":"` + url + `"}}`)})
		if code(err) != want {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestPublic(t *testing.T) {
	for a, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1": true, "127.0.0.1": false, "10.1.2.3": false, "192.168.0.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "::1": false, "::": false, "fe80::1": false,
		"fd00::1": false, "::ffff:127.0.0.1": false, "::ffff:8.8.8.8": true, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "ff02::1": false,
	} {
		if public(netip.MustParseAddr(a)) != want {
			t.Errorf("%s: public is %v", a, !want)
		}
	}
}

func TestGoPlugin(t *testing.T) {
	d := t.TempDir()
	build(t, "./testdata/suite", filepath.Join(d, "go.wasm"))
	files := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.txt")
	for name, text := range map[string]string{
		filepath.Join(d, "go.tools.json"): `[{"name":"config"},{"name":"crash"},{"name":"counter"},{"name":"host"},{"name":"files"}]`,
		filepath.Join(d, "go.json"):       `{"config": {"token": "Bearer ${secret:T}"}, "allowed_paths": {` + strconv.Quote(files) + `: "/rw", ` + strconv.Quote("ro:"+files) + `: "/ro"}}`,
		filepath.Join(files, "a.txt"):     "text of a",
		secret:                            "outside",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := secrets.New(t.Context(), []secrets.Spec{{Name: "T", Value: "t0ken-t0ken"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, reuse := range []bool{false, true} {
		p, err := New(d, cached(&Options{Secrets: set, Reuse: reuse}))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		call := func(tool, args string) string {
			t.Helper()
			r, err := p.Call(t.Context(), &hostfns.ToolCall{Server: "go", Tool: tool, Args: json.RawMessage(args)})
			if err != nil {
				return err.Error()
			}
			if r.Structured != nil {
				return string(r.Structured)
			}
			return r.Content[0].Text
		}
		if got := call("config", "{}"); got != "Bearer t0ken-t0ken" {
			t.Errorf("config: %q", got)
		}
		want := "I"
		for range 3 {
			if got := call("counter", "{}"); got != want {
				t.Errorf("counter: %q, want %q", got, want)
			}
			if reuse {
				want += "I"
			}
		}
		if got := call("crash", `{"a":"b"}`); !strings.Contains(got, `panic: {"a":"b"}`) || !strings.Contains(got, "it crashed") {
			t.Errorf("crash: %q", got)
		}
		var host, again struct {
			Year, Args, Env int
			Slept           bool
			Random          []byte
		}
		if json.Unmarshal([]byte(call("host", "{}")), &host) != nil || json.Unmarshal([]byte(call("host", "{}")), &again) != nil ||
			host.Year < 2026 || !host.Slept || host.Env != 0 || bytes.Equal(host.Random, again.Random) {
			t.Errorf("host: %+v, then %+v", host, again)
		}
		for _, c := range []struct{ op, path, text, want string }{
			{"read", "/rw/a.txt", "", "text of a"},
			{"read", "/ro/a.txt", "", "text of a"},
			{"write", "/rw/b.txt", "written", ""},
			{"read", "/ro/b.txt", "", "written"},
			{"write", "/ro/a.txt", "x", "open"},
			{"read", secret, "", "open"},
			{"read", "/rw/../../" + secret, "", "open"},
			{"link", "/rw/link", secret, "link"},
			{"read", "/rw/link", "", "open"},
		} {
			args, _ := json.Marshal(map[string]string{"op": c.op, "path": c.path, "text": c.text})
			if got := call("files", string(args)); !strings.Contains(got, c.want) || strings.Contains(got, "outside") {
				t.Errorf("%s %s: %q, want %q", c.op, c.path, got, c.want)
			}
		}
	}
}

func TestExample(t *testing.T) {
	d := t.TempDir()
	build(t, "../../../examples/plugin", filepath.Join(d, "text.wasm"))
	p, err := New(d, cached(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l, err := p.Tools(t.Context(), "text")
	if err != nil || len(l.Tools) != 2 || l.Tools[0].Name != "count" || l.Tools[0].OutputSchema == nil || l.Tools[1].Name != "slug" {
		t.Fatalf("%+v, %v", l, err)
	}
	var logs []string
	for _, c := range []struct{ tool, args, want string }{
		{"count", `{"text": "one two\nzwölf"}`, `{"characters":13,"lines":2,"words":3}`},
		{"slug", `{"title": "Hello, World!"}`, "hello-world"},
		{"slug", `{"title": "Hello, World!", "max": 5}`, "hello"},
		{"slug", `{"title": "?!"}`, "tool_failed: plug-in text: the title has neither letters nor digits"},
		{"slug", `{"title": 1}`, "tool_failed: plug-in text: json: cannot unmarshal"},
	} {
		r, err := p.Call(t.Context(), &hostfns.ToolCall{Server: "text", Tool: c.tool, Args: json.RawMessage(c.args), Emit: func(e hostfns.Event) {
			logs = append(logs, string(e.Data))
		}})
		var got string
		switch {
		case err != nil:
			got = err.Error()
		case r.Structured != nil:
			got = string(r.Structured)
		default:
			got = r.Content[0].Text
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s(%s) = %q, want %q", c.tool, c.args, got, c.want)
		}
	}
	if len(logs) != 1 || !strings.Contains(logs[0], "the title was cut") {
		t.Errorf("logs: %q", logs)
	}
}

func BenchmarkCall(b *testing.B) {
	d := dir(b, map[string]any{"wat.wasm": echoModule})
	build(b, "../../../examples/plugin", filepath.Join(d, "go.wasm"))
	for _, reuse := range []bool{false, true} {
		p, err := New(d, &Options{Reuse: reuse})
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		for _, c := range []hostfns.ToolCall{
			{Server: "wat", Tool: "echo", Args: json.RawMessage(`{"input":"one two"}`)},
			{Server: "go", Tool: "count", Args: json.RawMessage(`{"text":"one two"}`)},
		} {
			if _, err := p.Call(b.Context(), &c); err != nil { // compiles it
				b.Fatal(err)
			}
			b.Run(c.Server+"/reuse="+strconv.FormatBool(reuse), func(b *testing.B) {
				for b.Loop() {
					if _, err := p.Call(b.Context(), &c); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
