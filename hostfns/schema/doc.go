package schema

import (
	"strings"
)

// Bounds of docstrings, in bytes. A description of a tool that says more than this is not read to its end anyway.
const (
	maxDescription = 4 << 10
	maxDoc         = 12 << 10
	maxSummary     = 160
)

// Summary returns the first sentence or line of what the server says about the tool, in one line; it may be empty.
func (t *Tool) Summary() string {
	text := clean(t.in.Description, 4*maxSummary)
	if text == "" {
		text = clean(t.in.Title, 4*maxSummary)
	}
	text, _, _ = strings.Cut(text, "\n\n")
	text = cleanLine(text, 4*maxSummary)
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	return cut(text, maxSummary)
}

// doc returns the docstring.
func (t *Tool) doc(s *Signature, result *document) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	title, description := cleanLine(t.in.Title, maxSummary), clean(t.in.Description, maxDescription)
	if title != "" && !strings.HasPrefix(strings.ToLower(description), strings.ToLower(title)) {
		add(title)
	}
	add(description)
	add(argsDoc(s))
	add(t.returnsDoc(s, result))
	add(t.hints())
	add("Tool " + pythonString(cut(t.in.Name, maxSummary)) + " of the server " + pythonString(cut(t.server, maxSummary)) + ".")
	return cut(strings.Join(parts, "\n\n"), maxDoc)
}

func argsDoc(s *Signature) string {
	if len(s.Params) == 0 && !s.Extra {
		return ""
	}
	var b strings.Builder
	b.WriteString("Args:")
	for i := range s.Params {
		if b.Len() > maxDoc/2 {
			b.WriteString("\n    ...: see the signature for the others")
			break
		}
		p := &s.Params[i]
		b.WriteString("\n    " + p.Name + " (" + p.Type)
		if !p.Required {
			b.WriteString(", optional")
		}
		b.WriteString(")")
		var more []string
		if p.Doc != "" {
			more = append(more, indent(p.Doc, "        "))
		}
		if p.Name != p.Key {
			more = append(more, "Called "+pythonString(cut(p.Key, maxName))+" by the tool.")
		}
		if len(more) > 0 {
			b.WriteString(": " + strings.Join(more, " "))
		}
	}
	if s.Extra && len(s.Params) > 0 {
		b.WriteString("\n    Further keyword arguments are passed on.")
	} else if s.Extra {
		b.WriteString("\n    Any keyword arguments are passed on.")
	}
	return b.String()
}

// indent moves all lines but the first to the right.
func indent(s, by string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", "\n"+by), "\n"+by+"\n", "\n\n")
}

func (t *Tool) returnsDoc(s *Signature, result *document) string {
	if result.root == nil {
		return ""
	}
	value := result.root
	if s.Unwrap != "" {
		value = value.get("properties").get(s.Unwrap)
	}
	text := "Returns:\n    " + s.Returns
	if doc := result.paramDoc(value); doc != "" {
		text += ": " + indent(doc, "        ")
	}
	return text
}

// hints tells what the server says that calls do. It may be wrong.
func (t *Tool) hints() string {
	is := func(b *bool) bool { return b != nil && *b }
	var all []string
	switch {
	case is(t.in.ReadOnly):
		all = append(all, "Changes nothing (read-only).")
	case is(t.in.Destructive):
		all = append(all, "May destroy or overwrite things.")
	}
	if is(t.in.Idempotent) && !is(t.in.ReadOnly) {
		all = append(all, "Calling it again with the same arguments changes nothing more (idempotent).")
	}
	return strings.Join(all, " ")
}

// paramDoc returns what a schema says of a value beyond its type: description and constraints.
func (d *document) paramDoc(v *value) string {
	target := v
	for range maxTypeDepth {
		next, err := d.reference(target)
		if err != nil || next == nil {
			break
		}
		target = next
	}
	text := clean(v.str("description"), maxParamDoc)
	if text == "" && target != v {
		text = clean(target.str("description"), maxParamDoc)
	}
	if text == "" {
		text = cleanLine(v.str("title"), maxSummary)
	}
	if text != "" && !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, "!") {
		text += "."
	}
	rules := d.rules(target)
	if def := v.get("default"); def != nil && def.kind != kindNull {
		rules = append(rules, "default "+pythonValue(def, 80))
	}
	if len(rules) == 0 {
		return text
	}
	line := cleanLine(strings.Join(rules, "; "), maxParamDoc)
	return strings.TrimSpace(text + " " + strings.ToUpper(line[:1]) + line[1:] + ".")
}

// rules lists constraints of a value in words.
func (d *document) rules(v *value) []string {
	if v == nil || v.kind != kindObject {
		return nil
	}
	var rules []string
	add := func(text string) {
		if text != "" {
			rules = append(rules, text)
		}
	}
	if e := v.list("enum"); len(e) > 0 && !strings.HasPrefix(d.pythonType(v), "Literal") {
		add("one of " + enumText(e, 300))
	}
	add(rangeText(v))
	if k := v.get("multipleOf"); k != nil && k.kind == kindNumber {
		add("a multiple of " + cut(k.text, 40))
	}
	count := func(low, high, what string) {
		if l, h := v.int(low), v.int(high); l > 0 || h >= 0 {
			add(countText(l, h, what))
		}
	}
	count("minLength", "maxLength", "character")
	count("minItems", "maxItems", "item")
	count("minProperties", "maxProperties", "key")
	if v.get("uniqueItems").isBool(true) {
		add("all different")
	}
	if f := v.str("format"); f != "" {
		add("format " + cut(f, 40))
	}
	if p := v.str("pattern"); p != "" {
		add("matches " + cut(p, 120))
	}
	add(d.keysText(v, "keys:"))
	if items := v.get("items"); items != nil && items.kind == kindObject {
		if target, err := d.reference(items); err == nil && target != nil {
			items = target
		}
		add(d.keysText(items, "each with the keys:"))
	}
	return rules
}

// keysText lists the keys of an object with their types, since annotations do not tell them.
func (d *document) keysText(v *value, what string) string {
	props := v.get("properties")
	if props == nil || props.kind != kindObject || len(props.keys) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(what)
	required := strs(v.get("required"))
	for i, key := range props.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if b.Len() > 300 {
			b.WriteString(" ...")
			break
		}
		b.WriteString(" " + cut(key, 40) + " (" + d.pythonType(props.items[i]))
		found := false
		for _, r := range required {
			found = found || r == key
		}
		if !found {
			b.WriteString(", optional")
		}
		b.WriteByte(')')
	}
	return b.String()
}
