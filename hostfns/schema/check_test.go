package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

func compileOne(input, output string) *Tool {
	in := Input{Name: "get-sum", Description: "Returns the sum of two numbers"}
	if input != "" {
		in.InputSchema = json.RawMessage(input)
	}
	if output != "" {
		in.OutputSchema = json.RawMessage(output)
	}
	return Compile("everything", "everything", []Input{in})[0]
}

const sumSchema = `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {
	"a": {"type": "number", "description": "First number"}, "b": {"type": "number", "description": "Second number"}},
	"required": ["a", "b"], "additionalProperties": false}`

// searchSchema has something of everything.
const searchSchema = `{"type": "object", "properties": {
	"query": {"type": "string", "minLength": 2, "maxLength": 100},
	"max-results": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10},
	"sort": {"enum": ["stars", "forks", null]},
	"labels": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}, "maxItems": 3, "uniqueItems": true},
	"from": {"type": ["string", "null"], "format": "date"},
	"owner": {"$ref": "#/$defs/owner"},
	"step": {"type": "number", "multipleOf": 0.1},
	"target": {"anyOf": [
		{"type": "object", "properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
		{"type": "object", "properties": {"kind": {"const": "url"}, "url": {"type": "string"}}, "required": ["kind", "url"]}]}
	}, "required": ["query"],
	"$defs": {"owner": {"type": "object", "properties": {"name": {"type": "string"}, "boss": {"$ref": "#/$defs/owner"}},
		"required": ["name"], "additionalProperties": false}}}`

func TestCheckArgs(t *testing.T) {
	for _, test := range []struct{ schema, args, want string }{
		{sumSchema, `{"a": 1, "b": 2.5}`, ""},
		{sumSchema, `{"a": 1, "b": "2"}`, "argument b: expected float, got str '2'"},
		{sumSchema, `{"a": 1}`, "missing argument 'b' (float)"},
		{sumSchema, `{}`, "missing argument 'a' (float)\nmissing argument 'b' (float)"},
		{sumSchema, ``, "missing argument 'a'"},
		{sumSchema, `null`, "missing argument 'a'"},
		{sumSchema, `[1, 2]`, "expected an object with an argument for each key, got list of 2: [1, 2]"},
		{sumSchema, `{"a": 1, "b": 2, "c": 3}`, "unknown argument 'c'; known are a, b"},
		{sumSchema, `{"a": 1, "b": 2}{`, "arguments: is not JSON"},
		{sumSchema, `{"a": NaN, "b": 2}`, "argument a NaN and Infinity do not exist"},
		{sumSchema, `{"a": 1, "a": 1, "b": 2}`, "argument a is given twice"},
		{searchSchema, `{"query": "xy", "max-results": 3.0, "sort": null, "labels": ["a"], "from": null, "step": 0.3}`, ""},
		{searchSchema, `{"query": "x"}`, "argument query: expected 2 to 100 characters, got str 'x'"},
		{searchSchema, `{"query": "xy", "max-results": 3.5}`, "argument max_results: expected int, got float 3.5"},
		{searchSchema, `{"query": "xy", "max-results": 51}`, "argument max_results: expected a number of at least 1 and at most 50, got int 51"},
		{searchSchema, `{"query": "xy", "max-results": true}`, "argument max_results: expected int, got bool True"},
		{searchSchema, `{"query": "xy", "max_results": 5}`, "unknown argument 'max_results'; did you mean 'max-results'?"},
		{searchSchema, `{"query": "xy", "sort": "star"}`, "argument sort: expected Literal['stars', 'forks'] | None, got str 'star'"},
		{searchSchema, `{"query": "xy", "labels": ["a", "B"]}`, "argument labels[1]: expected text that matches the regular expression ^[a-z]+$, got str 'B'"},
		{searchSchema, `{"query": "xy", "labels": ["a", "a"]}`, "argument labels: has the item str 'a' twice"},
		{searchSchema, `{"query": "xy", "labels": ["a", "b", "c", "d"]}`, "argument labels: expected at most 3 items, got list of 4"},
		{searchSchema, `{"query": "xy", "labels": "a"}`, "argument labels: expected list[str], got str 'a'"},
		{searchSchema, `{"query": "xy", "step": 0.35}`, "argument step: expected a multiple of 0.1, got float 0.35"},
		{searchSchema, `{"query": "xy", "owner": {"name": "a", "boss": {"name": 5}}}`, "argument owner.boss.name: expected str, got int 5"},
		{searchSchema, `{"query": "xy", "owner": {"name": "a", "bos": {}}}`, "unknown key 'bos' in owner; did you mean 'boss'?"},
		{`{"properties": {"a": {"properties": {"newText": {}}, "required": ["newText"]}}}`, `{"a": {"newTxt": 1}}`, "missing key 'newText' in a (Any); is that meant by 'newTxt'?"},
		{searchSchema, `{"query": "xy", "owner": {}}`, "missing key 'name' in owner (str)"},
		{searchSchema, `{"query": "xy", "target": {"kind": "url"}}`, "missing key 'url' in target (str)"},
		{searchSchema, `{"query": "xy", "target": {"kind": "x"}}`, "argument target: expected {kind (Literal['file']), path (str)} or {kind (Literal['url']), url (str)}, got dict of 1: {'kind': 'x'}"},
		{searchSchema, `{"query": "xy", "querry": "y"}`, "unknown argument 'querry'; did you mean 'query'?"},
		{"", `{}`, ""},
		{"", `{"a": 1}`, "unknown argument 'a'; there are none"},
		{`{"type": "object", "properties": {}}`, `{"a": 1}`, "unknown argument 'a'; there are none"},
		{`{"type": "object"}`, `{"a": 1}`, ""},
		{`true`, `{"a": 1}`, ""},
		{`{"type": "object", "properties": {"a": {}}, "additionalProperties": true}`, `{"b": 1}`, ""},
		{`{"type": "object", "properties": {"a": {"type": "object", "properties": {"x": {}}}}}`, `{"a": {"y": 1}}`, ""},
		// What cannot be checked is passed over, not refused.
		{`{"properties": {"a": {"type": "string", "pattern": "^(?=x)y"}}}`, `{"a": "z"}`, ""},
		{`{"properties": {"a": {"type": "file"}}}`, `{"a": "z"}`, ""},
		{`{"properties": {"a": {"$ref": "https://example.com/a.json"}}}`, `{"a": 1}`, ""},
		{`{"properties": {"a": {"minimum": "high", "type": 7}}}`, `{"a": 1}`, ""},
		{`{"properties": {"a": {"exclusiveMinimum": true, "minimum": 1}}}`, `{"a": 1}`, "expected a number of more than 1"},
		{`{"properties": {"a": {"type": "string", "pattern": "^\\u0041$"}}}`, `{"a": "B"}`, "regular expression"},
		{`{"patternProperties": {"^(?=x)": {"type": "string"}}, "additionalProperties": false}`, `{"a": 1}`, ""},
		// Constants beyond what a float can tell apart.
		{`{"properties": {"a": {"enum": [9007199254740993]}}}`, `{"a": 9007199254740993}`, ""},
		{`{"properties": {"a": {"enum": [9007199254740993]}}}`, `{"a": 9007199254740992}`, "expected Literal[9007199254740993]"},
		{`{"properties": {"a": {"type": "integer"}}}`, `{"a": 1` + strings.Repeat("0", 400) + `}`, ""},
		{`{"properties": {"a": {"type": "integer", "maximum": 5}}}`, `{"a": 1e999999999}`, "at most 5, got float 1e999999999"},
	} {
		got, err := compileOne(test.schema, "").CheckArgs(json.RawMessage(test.args))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.args, err)
		case test.want == "" && test.args != "" && string(got) != test.args:
			t.Errorf("%s became %s", test.args, got)
		case test.want == "":
		case err == nil:
			t.Errorf("%s: taken, want %s", test.args, test.want)
		case !strings.Contains(err.Error(), test.want) || !errors.Is(err, ErrInvalid):
			t.Errorf("%s:\ngot  %v\nwant %s", test.args, err, test.want)
		case !strings.Contains(err.Error(), "\nsignature: get_sum("):
			t.Errorf("no signature: %v", err)
		}
	}
}

func TestCheckResult(t *testing.T) {
	output := `{"type": "object", "properties": {"temperature": {"type": "number"}}, "required": ["temperature"]}`
	for _, test := range []struct{ schema, result, want string }{
		{output, `{"temperature": 5, "more": 1}`, ""},
		{output, `{"temperature": "5"}`, "result temperature: expected float, got str '5'"},
		{output, ``, "there is none"},
		{output, `{"temp`, "result: is not JSON"},
		{output, `5`, "result: expected dict[str, Any], got int 5"},
		{"", ``, ""},
		{"", `5`, ""},
		{`{"$ref": "#"}`, `5`, ""},
	} {
		err := compileOne("", test.schema).CheckResult(json.RawMessage(test.result))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %s", test.result, err, test.want)
		}
	}
}

func TestProblem(t *testing.T) {
	for schema, want := range map[string]string{
		sumSchema:                    "",
		`{"$ref": "#"}`:              "refers to itself without end",
		`{"allOf": [{"$ref": "#"}]}`: "refers to itself without end",
		`{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}, "properties": {"x": {"$ref": "#/$defs/a"}}}`: "refers to itself without end",
		`{"properties": {"x": {"$ref": "#/$defs/no"}}}`:            "'#/$defs/no' leads to nothing",
		`{"properties": {"x": {"$ref": "https://example.com/x"}}}`: "leads out of the schema",
		`{"properties": {"x": {"$ref": "file:///etc/passwd"}}}`:    "leads out of the schema",
		`{"properties": {"x": {"$dynamicRef": "#x"}}}`:             "$dynamicRef",
		`[]`:                                   "neither an object nor a boolean",
		`{`:                                    "is not JSON",
		strings.Repeat("[", 5000):              "nested deeper",
		`{"properties": {"x": {"$ref": "#"}}}`: "", // inside itself, as trees are
	} {
		tool := compileOne(schema, "")
		if got := tool.Problem(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", cut(schema, 80), got, want)
		}
		if _, err := tool.CheckArgs(json.RawMessage(`{"x": 1}`)); want != "" && err != nil {
			t.Errorf("%s: cannot be called: %v", cut(schema, 80), err)
		}
		tool.Describe()
	}
}

// TestHostileSchemas takes schemas and arguments that are made to take for ever. Each has to end, one way or the
// other.
func TestHostileSchemas(t *testing.T) {
	doubling := `{"$defs": {"d0": {"type": "string"}`
	for i := range 40 {
		doubling += fmt.Sprintf(`, "d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i+1, i, i)
	}
	doubling += `}, "properties": {"x": {"$ref": "#/$defs/d40"}}}`
	tree := `{"$defs": {"t": {"type": "object", "anyOf": [{"properties": {"x": {"$ref": "#/$defs/t"}}, "required": ["x"]},
		{"properties": {"x": {"$ref": "#/$defs/t"}}, "required": ["x"]}]}}, "$ref": "#/$defs/t"}`
	deep := strings.Repeat(`{"x":`, 90) + "1" + strings.Repeat("}", 90)
	many := "[" + strings.Repeat(`"aaaaaaaaaaaaaaaaaaaaaaaaaaaaab",`, 100_000) + "1]"
	var enum strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&enum, `%d,`, i)
	}
	for name, test := range map[string][2]string{
		"doubling":     {doubling, `{"x": "a"}`},
		"tree":         {tree, deep},
		"huge enum":    {`{"properties": {"x": {"contains": {"enum": [` + enum.String() + `-1]}}}}`, `{"x": ` + many + `}`},
		"pattern":      {`{"properties": {"x": {"contains": {"pattern": "(a*)*(a*)*(a*)*$c"}}}}`, `{"x": ` + many + `}`},
		"huge pattern": {`{"properties": {"x": {"pattern": "((((((a{1,9}){1,9}){1,9}){1,9}){1,9}){1,9})$"}}}`, `{"x": "` + strings.Repeat("a", 60_000) + `"}`},
		"unique":       {`{"properties": {"x": {"uniqueItems": true}}}`, `{"x": ` + many + `}`},
		"keys":         {`{"patternProperties": {"^a": {}}, "propertyNames": {"pattern": "a+b+$"}}`, `{"x": ` + many + `}`},
		"chain":        {chain(20_000), `{"x": 1}`},
		"multiple":     {`{"properties": {"x": {"multipleOf": 1e-999999999}}}`, `{"x": 1e999999999}`},
	} {
		t.Run(name, func(t *testing.T) {
			tool := compileOne(test[0], "")
			done := make(chan error, 1)
			go func() {
				_, err := tool.CheckArgs(json.RawMessage(test[1]))
				tool.Describe()
				done <- err
			}()
			select {
			case err := <-done:
				if err != nil && len(err.Error()) > 4000 {
					t.Errorf("the error has %d bytes", len(err.Error()))
				}
			case <-time.After(time.Minute):
				t.Fatal("it does not end")
			}
		})
	}
}

// chain is a schema whose references are a long way one after the other.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": {`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d": {"$ref": "#/$defs/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d": {}}}`, n)
	return b.String()
}

// FuzzCheckArgs compares with the validator of another project, for schemas that it can be trusted with.
func FuzzCheckArgs(f *testing.F) {
	f.Add(sumSchema, `{"a": 1, "b": "x"}`)
	f.Add("{}", " \f")
	f.Add(searchSchema, `{"query": "xy", "labels": ["a", "a"], "target": {"kind": "url", "url": "x"}}`)
	f.Add(`{"properties": {"a": {"oneOf": [{"type": "integer"}, {"minimum": 2}]}}, "additionalProperties": {"not": {"type": "null"}}}`, `{"a": 1.5, "b": 2}`)
	f.Add(`{"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}, "else": {"minProperties": 2}}`, `{"a": 1}`)
	f.Add(`{"properties": {"a": {"prefixItems": [{"type": "string"}], "items": {"type": "null"}, "contains": {"enum": [[], {}]}}}}`, `{"a": ["x", null, {}]}`)
	f.Add(`{"$ref": "#/$defs/a", "$defs": {"a": {"dependentRequired": {"a": ["b"]}, "propertyNames": {"maxLength": 1}}}}`, `{"a": 1}`)
	f.Add(`{"unevaluatedProperties": false, "allOf": [{"properties": {"a": true}}]}`, `{"a": "\ud800", "b": {"b": 1, "b": NaN}}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		tool := compileOne(schema, schema)
		checked, err := tool.CheckArgs(json.RawMessage(args))
		if rest := strings.Trim(args, " \t\r\n"); err == nil && rest != "" && rest != "null" && string(checked) != rest {
			t.Fatalf("%q became %q", args, checked)
		}
		if err != nil && (len(err.Error()) > 4000 || !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrTooComplex)) {
			t.Fatalf("%d bytes: %v", len(err.Error()), err)
		}
		_ = tool.CheckResult(json.RawMessage(args))
		compareWith(t, tool, schema, args)
	})
}

// compareWith compares with the other validator where both mean the same.
func compareWith(t *testing.T, tool *Tool, schema, args string) {
	// What is different on purpose: numbers beyond floats, keywords with nonsense in them, references, what JSON
	// allows only just.
	if tool.Problem() != "" || strings.ContainsAny(schema+args, "\\eE.") || strings.Contains(schema, "Ref") ||
		strings.Contains(schema, "$") || len(schema)+len(args) > 2000 || longNumber(schema) || longNumber(args) {
		return
	}
	strictSchema, err := parseJSON(schema, limits{bytes: 1 << 20, depth: 20, values: 1000})
	if err != nil || !lowerCase(strictSchema) {
		return
	}
	var other jsonschema.Schema
	if json.Unmarshal([]byte(schema), &other) != nil {
		return
	}
	resolved, err := other.Resolve(nil)
	if err != nil {
		return
	}
	v, err := parseJSON(args, limits{bytes: 1 << 20, depth: 20, values: 1000})
	if err != nil {
		return
	}
	var instance any
	if json.Unmarshal([]byte(args), &instance) != nil {
		return
	}
	_, d := tool.schemas() // the one that is not closed
	issues, err := d.find(v)
	if err != nil {
		return
	}
	want := resolved.Validate(instance)
	if (len(issues) == 0) != (want == nil) {
		t.Fatalf("%s for %s: got %v, the other says %v", schema, args, issues, want)
	}
}

func longNumber(s string) bool {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			n = 0
		} else if n++; n > 12 {
			return true
		}
	}
	return false
}

// lowerCase tells whether the schema has only keys and values that both validators take alike: the other one folds
// the case of keywords, for example.
func lowerCase(v *value) bool {
	for i, item := range v.items {
		if v.kind == kindObject {
			key := v.keys[i]
			if strings.ToLower(key) != key && !strings.Contains("additionalProperties minLength maxLength minItems maxItems uniqueItems "+
				"prefixItems anyOf allOf oneOf multipleOf propertyNames minProperties maxProperties", key) {
				return false
			}
			if key == "enum" && len(item.items) == 0 || key == "type" && typesOf(item) == 0 || key == "dependencies" ||
				item.kind == kindNull || key == "multipleof" || key == "multipleOf" || strings.HasPrefix(key, "min") && strings.HasPrefix(item.text, "-") ||
				strings.HasPrefix(key, "max") && strings.HasPrefix(item.text, "-") || key == "items" && item.kind == kindArray || key == "additionalitems" {
				return false
			}
		}
		if !lowerCase(item) {
			return false
		}
	}
	return true
}
