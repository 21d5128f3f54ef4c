package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPythonType(t *testing.T) {
	for _, test := range []struct{ schema, want string }{
		{`{"type": "string"}`, "str"},
		{`{"type": "integer"}`, "int"},
		{`{"type": "number"}`, "float"},
		{`{"type": ["integer", "number"]}`, "float"},
		{`{"type": ["null", "string"]}`, "str | None"},
		{`{"type": "boolean"}`, "bool"},
		{`{"type": "null"}`, "None"},
		{`{}`, "Any"},
		{`true`, "Any"},
		{`false`, "Any"},
		{`{"type": "array", "items": {"type": "string"}}`, "list[str]"},
		{`{"type": "array", "items": {"type": ["string", "null"]}}`, "list[str | None]"},
		{`{"type": "array"}`, "list[Any]"},
		{`{"items": {"type": "integer"}}`, "list[int]"},
		{`{"type": "array", "items": [{"type": "string"}]}`, "list[Any]"},
		{`{"type": "object", "additionalProperties": {"type": "integer"}}`, "dict[str, int]"},
		{`{"type": "object", "properties": {"a": {}}}`, "dict[str, Any]"},
		{`{"properties": {"a": {}}}`, "dict[str, Any]"},
		{`{"type": "string", "enum": ["a", "b'\n"]}`, `Literal['a', 'b\'\n']`},
		{`{"enum": [1, true, "x", null]}`, `Literal[1, True, 'x'] | None`},
		{`{"enum": [1.5, "x"]}`, "float | str"},
		{`{"enum": [null]}`, "None"},
		{`{"enum": [{"a": 1}, []]}`, "dict[str, Any] | list[Any]"},
		{`{"const": "x"}`, "Literal['x']"},
		{`{"enum": ["` + strings.Repeat("x", 100) + `"]}`, "str"},
		{`{"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}`, "str | int | None"},
		{`{"anyOf": [{"type": "string"}, {}]}`, "Any"},
		{`{"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, "dict[str, Any]"},
		{`{"allOf": [{"description": "x"}, {"type": "string"}]}`, "str"},
		{`{"type": "file"}`, "Any"},
		{`{"type": 7}`, "Any"},
		{`{"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}}, "b": {"type": "string"}}}`, "list[str]"},
		{`{"$ref": "#"}`, "Any"},
		{`{"$ref": "https://example.com/x"}`, "Any"},
		{`{"type": "array", "items": {"$ref": "#"}}`, "list[list[Any]]"},
		{`{"type": "object", "additionalProperties": {"$ref": "#"}}`, "dict[str, dict[str, Any]]"},
		{strings.Repeat(`{"type": "array", "items": `, 20) + `{}` + strings.Repeat("}", 20), "list[list[list[list[list[list[list[Any]]]]]]]"},
	} {
		d := readSchema(json.RawMessage(test.schema))
		if got := d.pythonType(d.root); got != test.want {
			t.Errorf("%s: got %s, want %s", cut(test.schema, 100), got, test.want)
		}
	}
}

func TestSignature(t *testing.T) {
	for _, test := range []struct{ schema, want string }{
		{sumSchema, "get_sum(a: float, b: float) -> Any"},
		{searchSchema, "get_sum(query: str, max_results: int = 10, sort: Literal['stars', 'forks'] | None = None, " +
			"labels: list[str] | None = None, from_: str | None = None, owner: dict[str, Any] | None = None, " +
			"step: float | None = None, target: dict[str, Any] | None = None) -> Any"},
		{"", "get_sum() -> Any"},
		{`{"type": "object", "properties": {}}`, "get_sum() -> Any"},
		{`{"type": "object"}`, "get_sum(**kwargs: Any) -> Any"},
		{`{`, "get_sum(**kwargs: Any) -> Any"},
		{`true`, "get_sum(**kwargs: Any) -> Any"},
		{`{"properties": {"kwargs": {"type": "string"}, "kwargs_": {}}, "additionalProperties": {}}`,
			"get_sum(kwargs: str | None = None, kwargs_: Any = None, **kwargs__: Any) -> Any"},
		{`{"properties": {"z": {}, "y": {}, "a": {}}, "required": ["a", "missing"], "additionalProperties": false}`,
			"get_sum(a: Any, missing: Any, z: Any = None, y: Any = None) -> Any"},
		{`{"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"b": {"type": "integer"}}}], "$defs": {"a": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}}`,
			"get_sum(a: str, b: int | None = None, **kwargs: Any) -> Any"},
		{`{"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}`,
			"get_sum(a: str | None = None, b: str | None = None, **kwargs: Any) -> Any"},
		{`{"properties": {"a": {"type": "string", "default": "x'); import os"}, "b": {"default": {"k": [1, null, true]}}, "c": {"default": "` +
			strings.Repeat("y", 500) + `"}}}`,
			`get_sum(a: str = 'x\'); import os', b: Any = {'k': [1, None, True]}, c: Any = ...) -> Any`},
	} {
		s := compileOne(test.schema, "").Signature()
		if got := s.Line(); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.schema, got, test.want)
		}
		ask(t, "line", s.Line())
	}
}

func TestUnwrap(t *testing.T) {
	for _, test := range []struct{ schema, returns, in, want string }{
		{`{"type": "object", "properties": {"result": {"type": "array", "items": {"type": "integer"}}}, "required": ["result"]}`,
			"list[int]", `{"result": [1, 2]}`, `[1, 2]`},
		{`{"type": "object", "properties": {"content": {"type": "string"}}, "required": ["content"]}`, "str", `{"content": "x"}`, `"x"`},
		{`{"type": "object", "properties": {"result": {"type": "string"}}}`, "dict[str, Any]", `{"result": "x"}`, `{"result": "x"}`},
		{`{"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}`, "dict[str, Any]", `{"value": 1}`, `{"value": 1}`},
		{`{"type": "object", "properties": {"result": {}, "x": {}}, "required": ["result"]}`, "dict[str, Any]", `{"result": 1}`, `{"result": 1}`},
		{`{"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}`, "str", `{"result": 1, "more": 2}`, `{"result": 1, "more": 2}`},
		{``, "Any", `{"result": 1}`, `{"result": 1}`},
	} {
		tool := compileOne("", test.schema)
		if got := tool.Signature().Returns; got != test.returns {
			t.Errorf("%s: returns %s, want %s", test.schema, got, test.returns)
		}
		if got := string(tool.Value(json.RawMessage(test.in))); got != test.want {
			t.Errorf("%s: got %s, want %s", test.schema, got, test.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	yes := true
	tool := Compile("git-hub", "git_hub", []Input{{
		Name: "search-repos", Title: "Search", Description: "Finds repositories. Sorted by stars.\x00\u202e\r\nSecond line.",
		InputSchema: json.RawMessage(searchSchema), ReadOnly: &yes,
		OutputSchema: json.RawMessage(`{"type": "object", "properties": {"result": {"type": "array", "items": {"type": "string"}, "description": "their names"}}, "required": ["result"]}`),
	}})[0]
	want, err := os.ReadFile("testdata/describe.txt")
	if os.Getenv("UPDATE") != "" {
		err = os.WriteFile("testdata/describe.txt", []byte(tool.Describe()), 0o644)
		want = []byte(tool.Describe())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := tool.Describe(); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := tool.Summary(); got != "Finds repositories." {
		t.Errorf("summary: %q", got)
	}
}

// hostileTool has everything in it that could break out of something.
func hostileTool(text string) Input {
	q, _ := json.Marshal(text)
	s := string(q)
	schema := `{"type": "object", "title": ` + s + `, "description": ` + s + `, "properties": {` + s + `: {"type": "string", "description": ` + s +
		`, "default": ` + s + `, "enum": [` + s + `, "x"], "format": ` + s + `, "pattern": ` + s + `}, "` + "o" + `": {"type": "object", "properties": {` + s +
		`: {"const": ` + s + `}}}}, "required": [` + s + `]}`
	return Input{Name: text, Title: text, Description: text, InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(schema)}
}

var hostileTexts = []string{
	`"""`, `'''`, `""""""`, `a"`, `a""`, `a\`, `a\"""`, `\"`, "\n\"\"\"\nimport os\nos.system('x')\n\"\"\"", "x) -> int: ...\nimport os\ndef f(",
	`{x}`, "%s%n", "\x00\x01\x1b[31m", "\u202eabc\u2066", "🚀\U0001F468\u200d\U0001F469", "ﬁℌ", "class", "None", "__import__('os')", "'+'", `\N{BULLET}`, `\x00`,
	"\r\n\r", "\u2028\u2029\x85", "\xff\xfe", "\\ud800", "#", "a\tb", strings.Repeat(`"`, 500), strings.Repeat(`\`, 501), strings.Repeat("🚀", 5000), " ", "",
}

func TestHostileTexts(t *testing.T) {
	var tools []Input
	for _, text := range hostileTexts {
		tools = append(tools, hostileTool(text))
	}
	all := Compile("a\"\"\"\nimport os", "evil", tools)
	for _, tool := range all {
		checkTool(t, tool)
	}
	var b strings.Builder
	if err := WriteStubs(&b, []Module{{Name: "evil", Server: "a\"\"\"\nimport os", Doc: strings.Join(hostileTexts, "\n"), Tools: all}}); err != nil {
		t.Fatal(err)
	}
	ask(t, "stubs", b.String())
}

func checkTool(t testing.TB, tool *Tool) {
	t.Helper()
	s := tool.Signature()
	text, err := json.Marshal(s)
	if err != nil || len(text) > 1<<20 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	for _, text := range []string{s.Doc, s.Returns, s.Line(), tool.Describe(), tool.Summary()} {
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\r\u202e\u2066") || len(text) > 40_000 {
			t.Fatalf("%d bytes: %q", len(text), cut(text, 500))
		}
	}
	keys := map[string]bool{}
	optional := false
	for _, p := range s.Params {
		if keys[p.Name] || p.Name == "" || len(p.Type) > maxType || optional && p.Required {
			t.Fatalf("%+v", p)
		}
		keys[p.Name] = true
		optional = optional || !p.Required
		if p.Default != nil && !json.Valid(p.Default) {
			t.Fatalf("default %q", p.Default)
		}
	}
	ask(t, "line", s.Line())
}

func TestManyParameters(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type": "object", "additionalProperties": false, "properties": {`)
	for i := range 5000 {
		fmt.Fprintf(&b, `"a%d": {"type": "string"},`, i)
	}
	b.WriteString(`"z": {}}}`)
	tool := compileOne(b.String(), "")
	s := tool.Signature()
	if len(s.Params) != maxParams || !s.Extra || len(s.Line()) > 2500 {
		t.Errorf("%d parameters, extra %v, line %d", len(s.Params), s.Extra, len(s.Line()))
	}
	// They can be given all the same.
	if _, err := tool.CheckArgs(json.RawMessage(`{"a4999": "x"}`)); err != nil {
		t.Error(err)
	}
	if _, err := tool.CheckArgs(json.RawMessage(`{"a5000": "x"}`)); err == nil || len(err.Error()) > 3500 {
		t.Error(err)
	}
}

func FuzzSignature(f *testing.F) {
	f.Add("get-sum", "Returns", sumSchema)
	f.Add("s", "", searchSchema)
	f.Add(`"""`, `"""`, `{"properties": {"a\"\"\"": {"enum": ["'", "\\"]}}}`)
	f.Fuzz(func(t *testing.T, name, description, schema string) {
		tool := Compile("s", "s", []Input{{Name: name, Description: description, InputSchema: json.RawMessage(schema),
			OutputSchema: json.RawMessage(schema)}})[0]
		checkTool(t, tool)
		for _, p := range tool.Signature().Params {
			ask(t, "expr", p.Type)
		}
	})
}
