package schema

import (
	"slices"
	"strings"
)

// Bounds of annotations. What is larger is told with less detail.
const (
	maxType        = 200 // bytes
	maxTypeDepth   = 5
	maxTypeParts   = 200
	maxAlternative = 12
	maxLiterals    = 24
	maxLiteral     = 60 // bytes of one
)

// pythonType returns the annotation for the values of a part of a schema. It is a valid expression of Python, at most
// maxType bytes long, with no names in it but those of built-in types, Any and Literal.
func (d *document) pythonType(v *value) string {
	t := typer{d: d}
	text := t.text(v)
	if len(text) > maxType {
		t = typer{d: d, coarse: true}
		text = t.text(v)
	}
	if len(text) > maxType {
		return "Any"
	}
	return text
}

// typer makes one annotation.
type typer struct {
	d *document
	// coarse types have no literals and nothing inside.
	coarse bool
	parts  int
	within []*value
}

func (t *typer) text(v *value) string {
	all := t.union(v)
	if len(all) == 0 || len(all) > maxAlternative || slices.Contains(all, "Any") {
		return "Any"
	}
	return strings.Join(all, " | ")
}

// union returns the types that a value may have, None last.
func (t *typer) union(v *value) []string {
	var all []string
	t.collect(v, &all)
	// int | float is what Python means by float.
	if slices.Contains(all, "float") {
		all = slices.DeleteFunc(all, func(s string) bool { return s == "int" })
	}
	if i := slices.Index(all, "None"); i >= 0 {
		all = append(slices.Delete(all, i, i+1), "None")
	}
	return all
}

func (t *typer) collect(v *value, all *[]string) {
	add := func(types ...string) {
		for _, s := range types {
			if !slices.Contains(*all, s) {
				*all = append(*all, s)
			}
		}
	}
	t.parts++
	if v == nil || v.kind != kindObject || t.parts > maxTypeParts || len(*all) > maxAlternative {
		add("Any")
		return
	}
	if len(t.within) > maxTypeDepth || slices.Contains(t.within, v) {
		add(t.outline(v))
		return
	}
	t.within = append(t.within, v)
	defer func() { t.within = t.within[:len(t.within)-1] }()
	if target, err := t.d.reference(v); err != nil {
		add("Any")
		return
	} else if target != nil {
		t.collect(target, all)
		return
	}
	if k := v.get("const"); k != nil {
		add(t.literals([]*value{k})...)
		return
	}
	if e := v.list("enum"); len(e) > 0 {
		add(t.literals(e)...)
		return
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		alternatives := v.list(keyword)
		// Alternatives beside a type are rules about it, most often: one of these has to be given.
		if len(alternatives) == 0 || v.get("type") != nil && !someTyped(alternatives) {
			continue
		}
		for _, a := range alternatives {
			t.collect(a, all)
		}
		return
	}
	if v.get("type") == nil {
		for _, part := range v.list("allOf") {
			var one []string
			if t.collect(part, &one); len(one) > 0 && !slices.Contains(one, "Any") {
				add(one...)
				return
			}
		}
	}
	add(t.plain(v)...)
}

func someTyped(all []*value) bool {
	return slices.ContainsFunc(all, func(v *value) bool {
		return v.get("type") != nil || v.get("$ref") != nil || v.get("enum") != nil || v.get("const") != nil
	})
}

// outline is the type of a part that is too deep, or inside itself.
func (t *typer) outline(v *value) string {
	switch {
	case v.str("type") == "object" || v.get("properties") != nil:
		return "dict[str, Any]"
	case v.str("type") == "array":
		return "list[Any]"
	default:
		return "Any"
	}
}

// plain returns what the keyword "type" says, or what can be guessed without it.
func (t *typer) plain(v *value) []string {
	var names []string
	switch k := v.get("type"); {
	case k == nil && (v.get("properties") != nil || v.get("additionalProperties") != nil):
		names = []string{"object"}
	case k == nil && (v.get("items") != nil || v.get("prefixItems") != nil):
		names = []string{"array"}
	case k == nil:
		return []string{"Any"}
	case k.kind == kindString:
		names = []string{k.text}
	default:
		names = strs(k)
	}
	var all []string
	for _, name := range names {
		switch name {
		case "string":
			all = append(all, "str")
		case "integer":
			all = append(all, "int")
		case "number":
			all = append(all, "float")
		case "boolean":
			all = append(all, "bool")
		case "null":
			all = append(all, "None")
		case "array":
			all = append(all, t.list(v))
		case "object":
			all = append(all, t.dict(v))
		default:
			return []string{"Any"}
		}
	}
	if all == nil {
		return []string{"Any"}
	}
	return all
}

func (t *typer) list(v *value) string {
	items := v.get("items")
	if t.coarse || items == nil || items.kind != kindObject || v.get("prefixItems") != nil {
		return "list[Any]"
	}
	return "list[" + t.text(items) + "]"
}

func (t *typer) dict(v *value) string {
	props := v.get("properties")
	others := v.get("additionalProperties")
	if t.coarse || props != nil && len(props.keys) > 0 || others == nil || others.kind != kindObject {
		return "dict[str, Any]"
	}
	return "dict[str, " + t.text(others) + "]"
}

// literals returns the type of some values: Literal, if Python can say it and they are few, or else their types.
func (t *typer) literals(values []*value) []string {
	var types, texts []string
	literal := !t.coarse && len(values) <= maxLiterals
	for _, v := range values {
		name := ""
		switch v.kind {
		case kindNull:
			name = "None"
		case kindBool:
			name = "bool"
		case kindNumber:
			if name = "float"; typeOf(v) == typeInteger {
				name = "int"
			}
			literal = literal && name == "int" && !strings.ContainsAny(v.text, ".eE")
		case kindString:
			name = "str"
		case kindArray, kindObject:
			name, literal = "list[Any]", false
			if v.kind == kindObject {
				name = "dict[str, Any]"
			}
		}
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
		if literal = literal && len(v.text) <= maxLiteral; literal && v.kind != kindNull {
			if text := pythonValue(v, 8*maxLiteral); !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	if !literal || len(texts) == 0 {
		return types
	}
	all := []string{"Literal[" + strings.Join(texts, ", ") + "]"}
	if slices.Contains(types, "None") {
		all = append(all, "None")
	}
	return all
}
