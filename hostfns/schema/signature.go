package schema

import (
	"encoding/json"
	"slices"
	"strings"
)

// Bounds of signatures. They are above what real tools have.
const (
	// maxParams bounds the parameters; further ones are not named, but allowed.
	maxParams   = 200
	maxDefault  = 1 << 10
	maxParamDoc = 600
	maxKey      = 256
)

// Signature returns how Python sees the tool. It is the same each time, and must not be changed. All texts in it are
// bounded and free of control characters, but they are a server's words: data, never source.
func (t *Tool) Signature() *Signature {
	t.describe.Do(func() {
		args, result := t.schemas()
		s := &Signature{Server: t.server, Tool: t.in.Name, Name: t.name, Returns: "Any"}
		s.Params, s.Extra = args.params()
		if result.root != nil {
			value := result.root
			if s.Unwrap = result.wrapped(); s.Unwrap != "" {
				value = value.get("properties").get(s.Unwrap)
			}
			s.Returns = result.pythonType(value)
		}
		s.Doc = t.doc(s, result)
		t.sig = s
	})
	return t.sig
}

// Value returns the value of a structured result: what is wrapped in it, see Signature.Unwrap, or the whole.
func (t *Tool) Value(structured json.RawMessage) json.RawMessage {
	key := t.Signature().Unwrap
	if key == "" {
		return structured
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(structured, &object); err != nil || len(object) != 1 || object[key] == nil {
		return structured
	}
	return object[key]
}

// wrapped names the property of an output schema that is the value, empty if the whole is.
func (d *document) wrapped() string {
	root := d.root
	if target, err := d.reference(root); err == nil && target != nil {
		root = target
	}
	// Only properties of the root itself are unwrapped: what a reference says is looked up by key there.
	props := d.root.get("properties")
	if root != d.root || props == nil || len(props.keys) != 1 || !slices.Contains(strs(root.get("required")), props.keys[0]) {
		return ""
	}
	if key := props.keys[0]; key == "result" || key == "content" {
		return key
	}
	return ""
}

// field is a property of the arguments.
type field struct {
	key      string
	schema   *value
	required bool
}

// params returns the parameters, those that are required first, and whether there may be others.
func (d *document) params() (params []Param, extra bool) {
	params = []Param{}
	if !d.given {
		return params, false
	}
	if d.root == nil {
		return params, true
	}
	f := fields{d: d, index: map[string]int{}}
	f.read(d.root, true)
	all := f.all
	slices.SortStableFunc(all, func(a, b field) int { return truth(b.required) - truth(a.required) })
	if extra = !d.closed && !f.closed; len(all) > maxParams {
		all, extra = all[:maxParams], true
	}
	keys := make([]string, len(all))
	for i := range all {
		keys[i] = all[i].key
	}
	for i, name := range pythonParams(keys) {
		params = append(params, d.param(name, &all[i]))
	}
	return params, extra
}

// fields collects the properties of an object from all parts that speak of it.
type fields struct {
	d      *document
	all    []field
	index  map[string]int
	parts  int
	closed bool
}

// read adds those of one part. Only what always holds makes a property required.
func (f *fields) read(v *value, always bool) {
	if f.parts++; v == nil || f.parts > maxAlternative {
		return
	}
	if props := v.get("properties"); props != nil && props.kind == kindObject {
		for i, key := range props.keys {
			f.add(key, props.items[i], false)
		}
	}
	if always {
		for _, key := range strs(v.get("required")) {
			f.add(key, nil, true)
		}
		f.closed = f.closed || v.get("additionalProperties").isBool(false) || v.get("unevaluatedProperties").isBool(false)
	}
	if patterns := v.get("patternProperties"); patterns != nil {
		f.closed = false
	}
	if target, err := f.d.reference(v); err == nil && target != nil {
		f.read(target, always)
	}
	for _, part := range v.list("allOf") {
		f.read(part, always)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		for _, part := range v.list(keyword) {
			f.read(part, false)
		}
	}
}

func (f *fields) add(key string, schema *value, required bool) {
	i, ok := f.index[key]
	if !ok {
		// What has a key that nobody could write stays out of the signature, and what is more than anybody needs.
		if len(f.all) > maxParams || len(key) > maxKey {
			f.closed = false
			return
		}
		i = len(f.all)
		f.index[key] = i
		f.all = append(f.all, field{key: key})
	}
	if p := &f.all[i]; schema != nil && p.schema == nil {
		p.schema = schema
	}
	f.all[i].required = f.all[i].required || required
}

func (d *document) param(name string, f *field) Param {
	p := Param{Name: name, Key: f.key, Required: f.required, Type: "Any", Nullable: true}
	if f.schema == nil {
		return p
	}
	p.Type = d.pythonType(f.schema)
	p.Nullable = p.Type == "Any" || p.Type == "None" || strings.HasSuffix(p.Type, " | None")
	if v := f.schema.get("default"); v != nil {
		p.Default = defaultOf(v)
	}
	p.Doc = d.paramDoc(f.schema)
	return p
}

// defaultOf returns a default as JSON, none when it is too large to be shown.
func defaultOf(v *value) json.RawMessage {
	b := appendJSON(nil, v)
	if len(b) > maxDefault {
		return nil
	}
	return b
}

// appendJSON writes a value; it stops somewhere after maxDefault bytes.
func appendJSON(b []byte, v *value) []byte {
	text := func(s string) {
		quoted, _ := json.Marshal(cut(s, 2*maxDefault))
		b = append(b, quoted...)
	}
	switch v.kind {
	case kindNull:
		b = append(b, "null"...)
	case kindBool:
		if v.yes {
			return append(b, "true"...)
		}
		b = append(b, "false"...)
	case kindNumber:
		b = append(b, v.text...)
	case kindString:
		text(v.text)
	case kindArray, kindObject:
		open, end := byte('['), byte(']')
		if v.kind == kindObject {
			open, end = '{', '}'
		}
		b = append(b, open)
		for i, item := range v.items {
			if len(b) > maxDefault {
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			if v.kind == kindObject {
				text(v.keys[i])
				b = append(b, ':')
			}
			b = appendJSON(b, item)
		}
		b = append(b, end)
	}
	return b
}
