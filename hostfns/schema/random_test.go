package schema

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// random makes schemas, and values that may match them, as JSON in Go values.
type random struct{ *rand.Rand }

var randomKeys = []string{"a", "b", "ab"}

func (r random) pick(all ...any) any { return all[r.IntN(len(all))] }

func (r random) value(depth int) any {
	if depth > 0 && r.IntN(3) == 0 {
		if r.IntN(2) == 0 {
			list := []any{}
			for range r.IntN(4) {
				list = append(list, r.value(depth-1))
			}
			return list
		}
		object := map[string]any{}
		for range r.IntN(4) {
			object[randomKeys[r.IntN(len(randomKeys))]] = r.value(depth - 1)
		}
		return object
	}
	return r.pick(nil, true, false, 0, 1, 2, -1, 1.5, "", "a", "b", "ab", "aé")
}

func (r random) list(depth int) []any {
	list := []any{r.schema(depth)}
	for range r.IntN(2) {
		list = append(list, r.schema(depth))
	}
	return list
}

func (r random) props(depth int) map[string]any {
	props := map[string]any{}
	for range r.IntN(3) {
		props[randomKeys[r.IntN(len(randomKeys))]] = r.schema(depth)
	}
	return props
}

func (r random) names() []any {
	return []any{randomKeys[r.IntN(len(randomKeys))]}
}

// schema makes one with some keywords, most of which mean something for the values above.
func (r random) schema(depth int) any {
	if depth == 0 || r.IntN(12) == 0 {
		return r.pick(true, true, false, map[string]any{})
	}
	s := map[string]any{}
	for range 1 + r.IntN(3) {
		switch d := depth - 1; r.IntN(32) {
		case 0, 1:
			s["type"] = r.pick("null", "boolean", "integer", "number", "string", "array", "object")
		case 2:
			s["type"] = []any{r.pick("null", "integer"), r.pick("string", "array", "object")}
		case 3:
			s["enum"] = []any{r.value(2), r.value(1)}
		case 4:
			s["const"] = r.value(1)
		case 5:
			s["minimum"] = r.pick(0, 1, 1.5)
		case 6:
			s["maximum"] = r.pick(0, 1, 1.5)
		case 7:
			s["exclusiveMinimum"] = r.pick(0, 1)
		case 8:
			s["exclusiveMaximum"] = r.pick(1, 2)
		case 9:
			s["multipleOf"] = r.pick(1, 2, 0.5)
		case 10:
			s["minLength"] = r.IntN(3)
		case 11:
			s["maxLength"] = r.IntN(3)
		case 12:
			s["pattern"] = r.pick("a", "^a", "b$")
		case 13:
			s["items"] = r.schema(d)
		case 14:
			s["prefixItems"] = r.list(d)
		case 15:
			s["contains"] = r.schema(d)
			s["minContains"] = r.IntN(3)
			s["maxContains"] = 1 + r.IntN(3)
		case 16:
			s["minItems"], s["maxItems"] = r.IntN(2), 1+r.IntN(3)
		case 17:
			s["uniqueItems"] = true
		case 18:
			s["unevaluatedItems"] = r.schema(d)
		case 19, 20:
			s["properties"] = r.props(d)
		case 21:
			s["patternProperties"] = map[string]any{r.pick("^a", "b").(string): r.schema(d)}
		case 22:
			s["additionalProperties"] = r.schema(d)
		case 23:
			s["propertyNames"] = r.schema(d)
		case 24:
			s["minProperties"], s["maxProperties"] = r.IntN(2), 1+r.IntN(3)
		case 25:
			s["required"] = r.names()
			s["dependentRequired"] = map[string]any{randomKeys[r.IntN(3)]: r.names()}
		case 26:
			s["unevaluatedProperties"] = r.schema(d)
		case 27:
			s["allOf"] = r.list(d)
		case 28:
			s["anyOf"] = r.list(d)
		case 29:
			s["oneOf"] = r.list(d)
		case 30:
			s["not"] = r.schema(d)
			s["dependentSchemas"] = map[string]any{randomKeys[r.IntN(3)]: r.schema(d)}
		case 31:
			s["if"], s["then"], s["else"] = r.schema(d), r.schema(d), r.schema(d)
		}
	}
	return s
}

// TestRandom compares with the validator of another project, for random schemas and values.
func TestRandom(t *testing.T) {
	r := random{rand.New(rand.NewPCG(1, 2))}
	valid, invalid := 0, 0
	for range 4000 {
		raw, err := json.Marshal(r.schema(4))
		if err != nil {
			t.Fatal(err)
		}
		var other jsonschema.Schema
		if err := json.Unmarshal(raw, &other); err != nil {
			t.Fatal(err)
		}
		resolved, err := other.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		d := readSchema(raw)
		if p := d.problem(); p != "" {
			t.Fatalf("%s: %s", raw, p)
		}
		for range 5 {
			x := r.value(3)
			text, _ := json.Marshal(x)
			v, err := parseJSON(string(text), strict)
			if err != nil {
				t.Fatal(err)
			}
			issues, err := d.find(v)
			if err != nil {
				t.Fatal(err)
			}
			want := resolved.Validate(x)
			if (want == nil) != (len(issues) == 0) {
				t.Fatalf("%s\nfor %s: got %v, the other says %v", raw, text, issues, want)
			}
			if want == nil {
				valid++
			} else {
				invalid++
			}
		}
	}
	if valid < 1000 || invalid < 1000 {
		t.Errorf("%d valid, %d not: that proves little", valid, invalid)
	}
}
