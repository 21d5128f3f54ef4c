package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns/nearest"
)

// add notes what is wrong at the present path.
func (c *checker) add(i issue) {
	i.path = slices.Clone(c.path)
	c.issues = append(c.issues, i)
}

// fail notes what is wrong, and returns false.
func (c *checker) fail(text string) bool {
	if c.report {
		c.add(issue{text: text})
	}
	return false
}

// expected notes what was expected instead of a value, and returns false.
func (c *checker) expected(what string, v *value) bool {
	if c.report {
		c.add(issue{text: "expected " + what + ", got " + c.short(v)})
	}
	return false
}

// mismatch is expected with the type of a part.
func (c *checker) mismatch(n *node, v *value) bool {
	if !c.report {
		return false
	}
	what := c.d.pythonType(n.src)
	switch {
	case strings.HasPrefix(what, "Literal"):
	case n.enum != nil:
		// There are too many values for a type, or they are of other types.
		what = "one of " + enumText(n.enum, 300)
	case n.constant != nil:
		what = pythonValue(n.constant, 80)
	}
	return c.expected(what, v)
}

// short shows a value with its type.
func (c *checker) short(v *value) string {
	switch v.kind {
	case kindNull:
		return "None"
	case kindBool:
		return "bool " + pythonValue(v, 10)
	case kindNumber:
		if strings.ContainsAny(v.text, ".eE") {
			return "float " + cut(v.text, 60)
		}
		return "int " + cut(v.text, 60)
	case kindString:
		return "str " + pythonString(cut(v.text, 60))
	case kindArray:
		return fmt.Sprintf("list of %d: %s", len(v.items), pythonValue(v, 60))
	default:
		return fmt.Sprintf("dict of %d: %s", len(v.keys), pythonValue(v, 60))
	}
}

func enumText(values []*value, n int) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > n {
			fmt.Fprintf(&b, "... (%d in all)", len(values))
			break
		}
		b.WriteString(pythonValue(v, 80))
	}
	return b.String()
}

// rangeText tells the bounds of a number.
func rangeText(v *value) string {
	var parts []string
	say := func(key, words string) {
		if k := v.get(key); k != nil && k.kind == kindNumber {
			parts = append(parts, words+" "+cut(k.text, 40))
		}
	}
	low, high := "at least", "at most"
	if v.get("exclusiveMinimum").isBool(true) {
		low = "more than"
	}
	if v.get("exclusiveMaximum").isBool(true) {
		high = "less than"
	}
	say("minimum", low)
	say("exclusiveMinimum", "more than")
	say("maximum", high)
	say("exclusiveMaximum", "less than")
	if parts == nil {
		return ""
	}
	return strings.Join(parts, " and ")
}

// countText tells how many there may be; -1 is no bound.
func countText(low, high int, what string) string {
	s := "s"
	if n := max(low, high); n == 1 {
		s = ""
	}
	switch {
	case low >= 0 && low == high:
		return strconv.Itoa(low) + " " + what + s
	case low > 0 && high >= 0:
		return strconv.Itoa(low) + " to " + strconv.Itoa(high) + " " + what + s
	case high >= 0:
		return "at most " + strconv.Itoa(high) + " " + what + s
	default:
		return "at least " + strconv.Itoa(max(low, 0)) + " " + what + s
	}
}

// describe writes an issue; what is the value as a whole ("argument", "result").
func (i *issue) describe(what string, names map[string]string) string {
	path := i.path
	if len(path) > 0 {
		// Callers know an argument by its name in Python.
		if key, ok := path[0].(string); ok && names[key] != "" {
			path = slices.Clone(path)
			path[0] = names[key]
		}
	}
	where, in := pathText(path), ""
	if where != "" {
		in = " in " + where
	}
	shown := func(key string) string {
		if len(path) == 0 && names[key] != "" {
			return names[key]
		}
		return cut(key, 60)
	}
	kind := what
	if where != "" {
		kind = "key"
	}
	switch {
	case i.missing != "":
		text := fmt.Sprintf("missing %s %s%s", kind, pythonString(shown(i.missing)), in)
		if i.text != "" {
			text += " (" + i.text + ")"
		}
		if near := nearest.Name(i.missing, i.known); near != "" {
			text += "; is that meant by " + pythonString(cut(near, 60)) + "?"
		}
		return text
	case i.unknown != "":
		return fmt.Sprintf("unknown %s %s%s", kind, pythonString(shown(i.unknown)), in) + instead(i.unknown, i.known, shown)
	case where == "" && what == "argument":
		return "arguments: " + i.text
	case where == "":
		return what + ": " + i.text
	default:
		return what + " " + where + ": " + i.text
	}
}

// instead suggests a key for one that is not known.
func instead(key string, known []string, shown func(string) string) string {
	if len(known) == 0 {
		return "; there are none"
	}
	if best := nearest.Name(key, known); best != "" {
		name := shown(best)
		if name == key {
			name = cut(best, 60) // the key itself is needed here, not its name in Python
		}
		return "; did you mean " + pythonString(name) + "?"
	}
	var b strings.Builder
	for i, k := range known {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > 200 {
			b.WriteString("...")
			break
		}
		b.WriteString(shown(k))
	}
	return "; known are " + b.String()
}

// alternatives tells the keys of alternative objects, empty if there are none: their type says nothing about them.
func (c *checker) alternatives(all []*node) string {
	var b strings.Builder
	for _, n := range all {
		for range maxTypeDepth {
			if n.ref != nil {
				n = n.ref
			}
		}
		keys := c.d.keysText(n.src, "")
		if keys == "" {
			continue
		}
		if b.Len() > 600 {
			b.WriteString(" or ...")
			break
		}
		if b.Len() > 0 {
			b.WriteString(" or")
		}
		b.WriteString(" {" + strings.TrimSpace(keys) + "}")
	}
	return strings.TrimSpace(b.String())
}
