package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns"
)

func textTool(p *hostfns.Tools, name string) {
	p.Add(hostfns.Tool{Name: name, InputSchema: []byte(`{"type":"object"}`)},
		func(_ context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
			return &hostfns.ToolResult{Content: []hostfns.Block{{Type: hostfns.BlockText, Text: c.Tool}}}, nil
		})
}

// TestImportTools: the package and its modules, however they are imported, and what errors say.
func TestImportTools(t *testing.T) {
	files := hostfns.NewTools("file-system")
	textTool(files, "read")
	for _, c := range []struct{ code, repr string }{
		{"import tools; tools.demo.get_sum(1, 2)", "3"},
		{"import tools.demo as d; d.get_sum(1, 2)", "3"},
		{"from tools import demo, file_system; file_system.read()", "'read'"},
		{"from tools.file_system import read as r; r()", "'read'"},
		{"from tools import servers, search, describe, ToolError; servers()", "['demo', 'file_system']"},
		{"from tools import *; servers()", "['demo', 'file_system']"},
		{"import importlib, tools.demo; importlib.reload(tools.demo) is tools.demo, tools.demo.get_sum(1, 2)", "(True, 3)"},
		{"import importlib, tools; importlib.reload(tools) is tools", "True"},
		{"import tools; (tools.__name__, tools.__path__, tools.__package__, 'demo' in tools.__doc__)", "('tools', [], 'tools', True)"},
		{"import tools.demo; hasattr(tools.demo, '__path__'), hasattr(tools.demo, '_repr_html_'), hasattr(tools, 'nope')", "(False, False, False)"},
		{"import importlib.util; importlib.util.find_spec('tools.nope'), importlib.util.find_spec('tools.demo').name", "(None, 'tools.demo')"},
		{"open('tools.py', 'w').write('1 / 0'); import tools; tools.servers()", "['demo', 'file_system']"},
		{"import sys; from tools.demo import echo; del sys.modules['tools'], sys.modules['tools.demo']; from tools.demo import echo as e; e(a=1), echo(a=1)", "({'a': 1}, {'a': 1})"},
		{"def f():\n    from tools.demo import get_sum\n    return get_sum(1, 2)\nf()", "3"},
	} {
		newToolSession(t, &hostfns.Options{Providers: []hostfns.Provider{demoTools(), files}}).want(c.code, c.repr)
	}
	s := newToolSession(t, &hostfns.Options{Providers: []hostfns.Provider{demoTools(), files}})
	for _, c := range []struct{ code, kind, hint string }{
		{"import tools.nope", "ModuleNotFoundError", "there is no tool server 'nope'; there are: demo, file_system"},
		{"from tools import demos", "ImportError", "did you mean 'demo'?"},
		{"from tools.filesystem import read", "ModuleNotFoundError", "did you mean 'file_system'?"},
		{"import tools\ntools.filesystem.read", "AttributeError", "did you mean 'file_system'?"},
		{"from tools.demo import get_sumt", "ImportError", "sum"},
		{"import tools.demo\ntools.demo.get_sumt", "AttributeError", "sum"},
		{"import tools.demo.get_sum", "ModuleNotFoundError", ""},
	} {
		if r := s.fails(c.code, c.kind); r.Error != nil && !strings.Contains(r.Error.Hint, c.hint) {
			t.Errorf("%s: hint %q, want %q", c.code, r.Error.Hint, c.hint)
		}
	}
	s.fails("import requestz", "ModuleNotFoundError", "--mount")
}

// TestBrokenToolServer: a server that cannot be listed is an error of its import, not an empty module, and no error of others.
func TestBrokenToolServer(t *testing.T) {
	s := newToolSession(t, &hostfns.Options{Providers: []hostfns.Provider{demoTools(), brokenProvider{}}})
	s.fails("import tools.broken", "mayfly.ToolError", "broken: it does not start")
	s.fails("from tools import broken", "mayfly.ToolError", "it does not start")
	s.want("import tools.demo; tools.demo.get_sum(1, 2)", "3")
	s.want("r = tools.search('sum'); [len(r) > 0, list(r.failed), 'could not be searched' in repr(r)]", "[True, ['broken'], True]")
}

type brokenProvider struct{}

func (brokenProvider) Servers() []string { return []string{"broken"} }
func (brokenProvider) Tools(context.Context, string) (*hostfns.Listing, error) {
	return nil, hostfns.Errorf(hostfns.CodeServer, "it does not start")
}
func (brokenProvider) Call(context.Context, *hostfns.ToolCall) (*hostfns.ToolResult, error) {
	return nil, hostfns.Errorf(hostfns.CodeServer, "it does not start")
}
func (brokenProvider) Close() error { return nil }

// TestToolsChange: a server whose tools change while a session lasts. Functions that are there go on working by their names.
func TestToolsChange(t *testing.T) {
	p := hostfns.NewTools("demo")
	textTool(p, "one")
	textTool(p, "two")
	s := newToolSession(t, &hostfns.Options{Providers: []hostfns.Provider{p}})
	s.want("from tools import demo\nfrom tools.demo import one, two\n[one(), two(), demo.__all__]", "['one', 'two', ['one', 'two']]")
	s.fails("demo.three", "AttributeError")
	textTool(p, "three")
	p.Remove("two")
	type in struct {
		X int `json:"x"`
		Y int `json:"y"`
	}
	hostfns.AddTool(p, hostfns.Tool{Name: "one"}, func(_ context.Context, in in) (int, error) { return in.X - in.Y, nil })
	s.want("[demo.three(), demo.__all__, demo.one is one]", "['three', ['one', 'three'], True]")
	s.want("one(x=2, y=1)", "1")
	s.want("[one(5, 1), str(one.__signature__)]", "[4, '(x: int, y: int) -> int']")
	s.fails("two()", "mayfly.ToolError", "no tool")
	s.fails("two()", "mayfly.ToolError", "no tool")
	s.fails("demo.two", "AttributeError")
}

// TestToolsAskedLittle: a program that does not import tools costs no host call, and one that does asks for servers once.
func TestToolsAskedLittle(t *testing.T) {
	var calls atomic.Int64
	e, err := engine.New(t.Context(), options())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	engine.SetHostFunction(e, func(_ context.Context, request []byte) []byte {
		calls.Add(1)
		return nil // no frame
	})
	s, err := e.NewSession(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if r := exec(t, s, "import json, asyncio, email.message, sqlite3\nawait asyncio.sleep(0)"); r.Error != nil || calls.Load() != 0 {
		t.Errorf("%s, %d calls", describe(r), calls.Load())
	}
	if r := exec(t, s, "for _ in range(3):\n    try: import tools\n    except ModuleNotFoundError: pass"); r.Error != nil || calls.Load() != 1 {
		t.Errorf("%s, %d calls", describe(r), calls.Load())
	}
	if r := exec(t, s, "import tools"); r.Error == nil || r.Error.Type != "ModuleNotFoundError" || calls.Load() != 2 {
		t.Errorf("%s, %d calls", describe(r), calls.Load())
	}
}

// TestTenThousandTools: a server with more tools than anybody reads.
func TestTenThousandTools(t *testing.T) {
	s := newToolSession(t, &hostfns.Options{Providers: []hostfns.Provider{manyTools("big", 10_000)}})
	s.want("import tools.big; len(tools.big.__all__), tools.big.tool_9999('x')", "(10000, 'tool-9999')")
	s.want("from tools.big import *; tool_1('x'), len(dir(tools.big)) > 10_000", "('tool-1', True)")
	s.fails("tools.big.tool_10000", "AttributeError")
	s.want("tools.search('number 77').failed", "{}")
}
