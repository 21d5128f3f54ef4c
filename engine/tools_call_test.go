package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/hostfns"
	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// TestToolCalls: arguments by position and name, and what becomes of results.
func TestToolCalls(t *testing.T) {
	s := newToolSession(t, nil)
	s.ok(`
import tools
from tools import demo
from tools.demo import get_sum, greet, echo
import dataclasses, datetime, enum, pathlib, collections, types, uuid
class Color(enum.Enum): RED = 'red'
class Level(enum.IntEnum): HIGH = 3
@dataclasses.dataclass
class Point:
    x: int
    y: object
sent = lambda value: echo(value=value)['value']
`)
	for code, repr := range map[string]string{
		"get_sum(a=1, b=2)":                          "3",
		"get_sum(1, 2.5)":                            "3.5",
		"get_sum(1, b=2)":                            "3",
		"get_sum(**{'a': 1, 'b': 2})":                "3",
		"greet('Ada')":                               "'hello Ada!'",
		"greet('Ada', 'x', 2)":                       "'hello Adax!hello Adax!'",
		"greet('Ada', None, 2)":                      "'hello Ada!hello Ada!'",
		"greet(name='Ada', class_='x')":              "'hello Adax!'",
		"greet(**{'name': 'Ada', 'class': 'x'})":     "'hello Adax!'",
		"greet(name='Ada', class_=None, times=None)": "'hello Ada!'",
		"await get_sum.aio(1, b=2)":                  "3",
		"demo.get_sum is get_sum":                    "True",
		"getattr(demo, 'get-sum') is get_sum":        "True",
		"tools.demo.greet('x')":                      "'hello x!'",
		// What can be sent.
		"sent('grüß \\U0001f98b \\0 \\u2028 \"')":        `'grüß 🦋 \x00 \u2028 "'`,
		"sent(10 ** 40 + 1)":                             "10000000000000000000000000000000000000001",
		"sent(-2 ** 63 - 1), sent(2 ** 53 + 1)":          "(-9223372036854775809, 9007199254740993)",
		"sent(0.1 + 0.2), sent(1e300), sent(True)":       "(0.30000000000000004, 1e+300, True)",
		"sent((1, (2,))), sent({'a': (1,)})":             "([1, [2]], {'a': [1]})",
		"sent(Color.RED), sent(Level.HIGH)":              "('red', 3)",
		"sent([Color.RED, {'k': Color.RED}])":            "['red', {'k': 'red'}]",
		"sent(Point(1, Point(2, pathlib.Path('/a/b'))))": "{'x': 1, 'y': {'x': 2, 'y': '/a/b'}}",
		"sent(datetime.date(2024, 2, 29)), sent(datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc))": "('2024-02-29', '2024-01-02T03:04:05+00:00')",
		"sent(collections.deque([1])), sent(collections.OrderedDict(a=1)), sent(types.MappingProxyType({'a': 1}))":     "([1], {'a': 1}, {'a': 1})",
		"sent(range(3)), sent(uuid.UUID(int=1))": "([0, 1, 2], '00000000-0000-0000-0000-000000000001')",
		"sent({1: 'a'})":                         "{'1': 'a'}",
		"sent(None), echo()":                     "(None, {})",
		"echo(a=(x := [1]), b=x)":                "{'a': [1], 'b': [1]}",
		// A parameter may have any name.
		"echo(self=1, args=2, kwargs=3, cls=4)": "{'self': 1, 'args': 2, 'kwargs': 3, 'cls': 4}",
	} {
		s.want(code, repr)
	}
}

// TestToolArguments: what cannot be sent, or is not what the tool takes. The message says which argument it is, and has the
// signature.
func TestToolArguments(t *testing.T) {
	s := newToolSession(t, nil)
	s.ok("from tools.demo import get_sum, greet, echo\nimport decimal")
	for _, c := range []struct{ code, part string }{
		{"echo(a=float('nan'))", "argument a: nan is not a number that JSON has"},
		{"echo(a=[1, {'b': float('-inf')}])", "argument a[1]['b']: -inf"},
		{"echo(a=b'x')", "argument a: bytes is not JSON; send text"},
		{"echo(a={1, 2})", "argument a: a set has no order"},
		{"echo(a=object())", "argument a: object is not JSON"},
		{"echo(a={(1, 2): 3})", "argument a: the key (1, 2) is a tuple"},
		{"echo(a=decimal.Decimal(1))", "argument a: a Decimal"},
		{"echo(a='\\ud800')", `argument a: the text has a lone surrogate, \ud800 at index 0`},
		{"echo(**{'\\udc00': 1})", "lone surrogate"},
		{"echo(a=10 ** 5000)", "argument a: an int of 16610 bits"},
		{"l = []; l.append(l); echo(a=l)", "nested too deeply, or contains itself"},
		{"l = []\nfor _ in range(100_000): l = [l]\ntry: echo(a=l)\nfinally:\n  while l: l = l[0]", "nested too deeply"},
		{"greet('x', class_=b'')", "argument class_: bytes"},
		{"get_sum(1)", "missing argument 'b'"},
		{"get_sum()", "signature: get_sum(a: float, b: float) -> float"},
		{"get_sum(1, 2, 3)", "3 positional arguments were given, there are at most 2"},
		{"get_sum(1, 2, a=3)", "the argument 'a' was given twice"},
		{"greet('x', class_='y', **{'class': 'z'})", "the argument 'class_' was given twice"},
		{"get_sum(a=1, b='2')", "argument b: expected float, got str '2'"},
		{"get_sum(a=1, b=None)", "b"},
		{"get_sum(a=1, c=2)", "unknown argument 'c'"},
		{"await get_sum.aio('x', 2)", "argument a: expected float"},
		{"await get_sum.aio(1, 2, 3)", "3 positional arguments"},
	} {
		r := s.fails(c.code, "mayfly.ToolError", c.part, "signature: ")
		if r.Error != nil && (strings.Contains(r.Error.Traceback, "<mayfly>") || r.Error.Line == 0) {
			t.Errorf("%s: line %d\n%s", c.code, r.Error.Line, r.Error.Traceback)
		}
	}
	s.want("try: get_sum(1)\nexcept TypeError as e: x = e\n[x.code, x.server, x.tool, isinstance(x, RuntimeError)]",
		"['invalid_arguments', 'demo', 'get-sum', True]")
}

// TestToolErrors: what a program can tell of a failure.
func TestToolErrors(t *testing.T) {
	p := demoTools()
	p.Add(hostfns.Tool{Name: "limited"}, func(context.Context, *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		return nil, &hostfns.Error{
			Code: hostfns.CodeRateLimit, Message: "slow\ndown 🐌", Hint: "wait", Data: json.RawMessage(`{"left": [0]}`), RetryAfter: 2e9, Retryable: true,
		}
	})
	p.Add(hostfns.Tool{Name: "deep"}, func(context.Context, *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		return &hostfns.ToolResult{Structured: json.RawMessage(`{"a":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}")}, nil
	})
	p.Add(hostfns.Tool{Name: "number"}, func(context.Context, *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		return &hostfns.ToolResult{Structured: json.RawMessage(`{"a":` + strings.Repeat("9", 5000) + "}")}, nil
	})
	s := newToolSession(t, &hostfns.Options{Providers: []hostfns.Provider{p}, Policy: &hostfns.Policy{Deny: []string{"demo.pause"}}})
	s.ok("from tools import demo, ToolError\nimport mayfly, pickle, copy\ndef catch(f, *a):\n    try: f(*a)\n    except mayfly.ToolError as e: return e")
	s.want("e = catch(demo.limited); [str(e), e.message, e.code, e.hint, e.data, e.retry_after, e.retryable, e.server, e.tool]",
		`['demo.limited: slow\ndown 🐌', 'slow\ndown 🐌', 'rate_limit', 'wait', {'left': [0]}, 2, True, 'demo', 'limited']`)
	s.want("f = pickle.loads(pickle.dumps(e)); [type(f) is type(e), str(f), f.__dict__ == e.__dict__]", "[True, 'demo.limited: slow\\ndown 🐌', True]")
	s.want("e = catch(demo.get_sum); f = copy.copy(pickle.loads(pickle.dumps(e))); [type(f) is type(e), isinstance(f, TypeError), f.code]",
		"[True, True, 'invalid_arguments']")
	s.want("catch(demo.fail).code", "'tool_failed'")
	s.want("catch(demo.deep).code, catch(demo.number).code", "('invalid_result', 'invalid_result')")
	s.want("ToolError is mayfly.ToolError, issubclass(ToolError, mayfly.HostError)", "(True, True)")
	s.want("str(ToolError('mine', code='x', server='s', tool='t'))", "'s.t: mine'")
	s.fails("demo.pause(ms=1)", "AttributeError", "has no tool 'pause'")
	r := s.fails("def use():\n    demo.limited()\nuse()", "mayfly.ToolError", "demo.limited()", "wait")
	if r.Error.Hint != "wait" || r.Error.Line != 2 || strings.Contains(r.Error.Traceback, "<mayfly>") {
		t.Errorf("hint %q, line %d\n%s", r.Error.Hint, r.Error.Line, r.Error.Traceback)
	}
	r = s.fails("import asyncio\nasync def use():\n    async with asyncio.TaskGroup() as g:\n        g.create_task(demo.limited.aio())\nawait use()", "ExceptionGroup", "demo.limited: slow")
	if strings.Contains(r.Error.Traceback, "<mayfly>") {
		t.Error(r.Error.Traceback)
	}
}

// TestToolIntrospection: help(), inspect, repr and the like, of functions whose descriptions are hostile.
func TestToolIntrospection(t *testing.T) {
	p := demoTools()
	p.Add(hostfns.Tool{
		Name: "hostile \"\"\"\n import os; os._exit(3) #", Description: "\"\"\"\nimport os; os._exit(3)\n'''\\",
		InputSchema: json.RawMessage(`{"type":"object","required":["x\"\n):\n import os"],"properties":{"x\"\n):\n import os":{"type":"string","description":"\"\"\")\nos._exit(3)"},"from":{"enum":["a'); os._exit(3)#"],"default":"\n\"\"\""}}}`),
	}, func(_ context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
		return &hostfns.ToolResult{Structured: c.Args}, nil
	})
	for _, name := range []string{"class", "print", "__init__", "get_sum", "1st", "ﬁ", "search", "", "a.b/c"} {
		if name == "" {
			continue
		}
		p.Add(hostfns.Tool{Name: name}, func(_ context.Context, c *hostfns.ToolCall) (*hostfns.ToolResult, error) {
			return &hostfns.ToolResult{Content: []hostfns.Block{{Type: hostfns.BlockText, Text: c.Tool}}}, nil
		})
	}
	s := newToolSession(t, &hostfns.Options{Providers: []hostfns.Provider{p}})
	s.ok("import inspect, pickle, copy, tools, pydoc\nfrom tools import demo\nfrom tools.demo import greet")
	for code, repr := range map[string]string{
		"greet":                         "<tool tools.demo.greet(name: str, class_: str | None = None, times: int | None = None) -> str>",
		"str(inspect.signature(greet))": "'(name: str, class_: str | None = None, times: int | None = None) -> str'",
		"inspect.signature(demo.pause).parameters['ms'].annotation":                                                       "<class 'int'>",
		"greet.__name__, greet.__qualname__, greet.__module__":                                                            "('greet', 'greet', 'tools.demo')",
		"greet.server, greet.tool, demo.get_sum.tool":                                                                     "('demo', 'greet', 'get_sum')",
		"greet.__annotations__['class_']":                                                                                 "str | None",
		"callable(greet), inspect.isroutine(greet), inspect.iscoroutinefunction(greet.aio)":                               "(True, True, True)",
		"greet.schema['properties']['name']['type'], greet.schema['required']":                                            "('string', ['name'])",
		"pickle.loads(pickle.dumps([greet]))[0] is greet":                                                                 "True",
		"copy.deepcopy({greet: [greet]}) == {greet: [greet]}":                                                             "True",
		"inspect.getdoc(demo.media)":                                                                                      "\"Tool 'media' of the server 'demo'.\"",
		"'greet' in dir(demo) and 'demo' in dir(tools) and '__getattr__' not in dir(tools)":                               "True",
		"sorted(demo.__all__) == sorted(set(dir(demo)) - {n for n in dir(demo) if n.startswith('__')})":                   "True",
		"all(n.isidentifier() for n in demo.__all__)":                                                                     "True",
		"[getattr(demo, n)() for n in ('class_', 'print', 'init')]":                                                       "['class', 'print', '__init__']",
		"getattr(demo, 'a.b/c')()":                                                                                        "'a.b/c'",
		"[n for n in demo.__all__ if 'hostile' in n]":                                                                     "['hostile_import_os_os__exit_3']",
		"help(demo); help(greet); help(tools); [str(inspect.signature(getattr(demo, n))) for n in demo.__all__] and None": "",
		"pydoc.render_doc(greet).splitlines()[2]":                                                                         "'g\\x08gr\\x08re\\x08ee\\x08et\\x08t(name: str, class_: str | None = None, times: int | None = None) -> str'",
		"hash(greet) == hash(demo.greet), greet == greet":                                                                 "(True, True)",
		"demo.hostile_import_os_os__exit_3('v')":                                                                          `{'x"\n):\n import os': 'v'}`,
	} {
		s.want(code, repr)
	}
	r := s.exec("help(demo.greet)")
	if !strings.Contains(r.Stdout, "greet(name: str, class_: str | None = None") {
		t.Error(r.Stdout)
	}
	s.want("print(tools.search('add numbers', 1)); tools.search('add numbers', limit=1)[0].import_", "'from tools.demo import get_sum_2'")
	s.want("[len(tools.search('waits', server=demo)) > 0, tools.search('xyzzy')]", "[True, no tool was found]")
	s.want("tools.describe(greet) == tools.describe('demo.greet') and 'greet(' in tools.describe(demo)", "True")
	s.fails("tools.describe('nope.x')", "mayfly.ToolError", "nope")
	s.want("from tools.demo import *\npause(ms=0), large_text.tool", "(0, 'large_text')")
}

// TestToolValues: content that is neither text nor JSON.
func TestToolValues(t *testing.T) {
	s := newToolSession(t, nil)
	s.ok("from tools.demo import media\nimport mayfly, pickle\ntext, image, audio, doc, data, link = all = media()")
	for code, repr := range map[string]string{
		"text":  "'grüß'",
		"image": "<Image 5 bytes, mime_type='image/png'>",
		"image.data, len(image), bytes(image) == image.data, image.mime_type": `(b'\x89PNG\xff', 5, True, 'image/png')`,
		"audio":                          "<Audio 3 bytes, mime_type='audio/wav'>",
		"doc":                            "<Resource 3 bytes, mime_type='text/plain', uri='demo://text'>",
		"str(doc), doc.text, bytes(doc)": "('ABC', 'ABC', b'ABC')",
		"data.text, data.data, data.uri": `(None, b'\xff', 'demo://data')`,
		"link, str(link), link.name":     "(<Link uri='demo://link', name='link'>, 'demo://link', 'link')",
		"open(image.save('a.png'), 'rb').read() == image.data, open(doc.save('b.txt')).read()": "(True, 'ABC')",
		"type(image) is mayfly.Image, pickle.loads(pickle.dumps(all)) == all":                  "(True, True)",
		"bool(mayfly.Image(b'')), len({image, pickle.loads(pickle.dumps(image))})":             "(True, 1)",
	} {
		s.want(code, repr)
	}
}

// TestToolsUnavailable: a sandbox without host functions.
func TestToolsUnavailable(t *testing.T) {
	s := newSession(t, nil)
	for _, c := range []struct{ code, kind, hint string }{
		{"import tools", "ModuleNotFoundError", "mayfly run --tools mcp.json"},
		{"from tools import demo", "ModuleNotFoundError", "mayfly run --tools mcp.json"},
		{"from tools.demo import x", "ModuleNotFoundError", "mayfly run --tools mcp.json"},
		{"import mayfly\nmayfly.secret('x')", "mayfly.HostError", "for whoever starts the sandbox to give"},
	} {
		if r := exec(t, s, c.code); r.Error == nil || r.Error.Type != c.kind || !strings.Contains(r.Error.Hint, c.hint) {
			t.Errorf("%s: %s, hint %q", c.code, describe(r), r.Error.Hint)
		}
	}
	want(t, s, "from mayfly import ToolError, HostError\ntry: mayfly.secret('x')\nexcept HostError as e: code = e.code\ncode", "'unavailable'")
	// The name is the program's own then.
	exec(t, s, "open('tools.py', 'w').write('def hammer(): return 5')")
	want(t, s, "import tools\ntools.hammer()", "5")
	if r := exec(t, s, "import tools.nail"); r.Error == nil || r.Error.Type != "ModuleNotFoundError" {
		t.Error(describe(r))
	}
}

// TestToolSecrets: a program has placeholders, which become values on their way to a tool that may have them.
func TestToolSecrets(t *testing.T) {
	set, err := secrets.New(t.Context(), []secrets.Spec{{Name: "TOKEN", Value: "s3cr3t-value", Allow: []string{"tool:demo.len"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := demoTools()
	type in struct {
		Text string `json:"text"`
	}
	hostfns.AddTool(p, hostfns.Tool{Name: "len"}, func(_ context.Context, in in) ([]any, error) {
		return []any{len(in.Text), in.Text}, nil
	})
	s := newToolSession(t, &hostfns.Options{Providers: []hostfns.Provider{p}, Secrets: set})
	s.ok("import mayfly\nfrom mayfly import secret\nfrom tools.demo import len, echo")
	s.want("x = len(secret('TOKEN')); [x[0], 'cr3t-val' in x[1]]", "[12, False]")
	s.want("'s3cr3t' in secret('TOKEN')", "False")
	s.fails("echo(a=secret('TOKEN'))", "mayfly.ToolError", "TOKEN")
	s.want("try: secret('TOKE')\nexcept mayfly.HostError as e: x = e.code, e.hint\nx", "('unavailable', 'did you mean TOKEN?')")
	s.fails("secret(b'')", "TypeError", "argument name: bytes is not JSON")
}
