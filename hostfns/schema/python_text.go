package schema

import (
	"encoding/json"
	"strings"
)

const (
	maxLine       = 2000
	maxLineParams = 40
	maxDefaultLen = 80
)

// Line returns the signature as one line of Python, without "def": get_sum(a: float, b: float) -> Any. It has about
// 2,000 bytes at most; of more than 40 parameters the rest is left out.
func (s *Signature) Line() string {
	var b strings.Builder
	b.WriteString(s.Name)
	b.WriteByte('(')
	for i := range s.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		if i == maxLineParams || b.Len() > maxLine-300 {
			b.WriteString("...")
			break
		}
		b.WriteString(s.Params[i].text())
	}
	if s.Extra {
		if len(s.Params) > 0 {
			b.WriteString(", ")
		}
		b.WriteString("**" + s.extraName() + ": Any")
	}
	b.WriteString(") -> ")
	b.WriteString(s.Returns)
	return b.String()
}

// text returns a parameter as it stands in a function's head.
func (p *Param) text() string {
	if p.Required {
		return p.Name + ": " + p.Type
	}
	if p.Default != nil {
		return p.Name + ": " + p.Type + " = " + literal(p.Default)
	}
	if p.Nullable {
		return p.Name + ": " + p.Type + " = None"
	}
	return p.Name + ": " + p.Type + " | None = None"
}

// literal returns JSON as a Python literal, or three dots when it would be long.
func literal(raw json.RawMessage) string {
	v, err := parseJSON(string(raw), limits{bytes: 2 * maxDefault, depth: MaxDepth, values: maxDefault, lenient: true})
	if err != nil {
		return "..."
	}
	text := pythonValue(v, maxDefaultLen+1)
	if len(text) > maxDefaultLen {
		return "..."
	}
	return text
}

// extraName is the name for further arguments, which no parameter has.
func (s *Signature) extraName() string {
	name := "kwargs"
	for i := 0; i < len(s.Params); i++ {
		if s.Params[i].Name == name {
			name += "_"
			i = -1
		}
	}
	return name
}

// Describe explains the tool to a model or a person: how it is imported, its signature, its docstring. It is bounded.
func (t *Tool) Describe() string {
	s := t.Signature()
	var b strings.Builder
	b.WriteString("from tools." + t.module + " import " + t.name + "\n\n")
	b.WriteString(s.Line() + "\n    " + indent(s.Doc, "    ") + "\n")
	b.WriteString("\nConcurrently: await " + t.name + ".aio(...)\n")
	if problem := t.Problem(); problem != "" {
		b.WriteString("\nNot checked before the call: " + problem + ".\n")
	}
	return b.String()
}
