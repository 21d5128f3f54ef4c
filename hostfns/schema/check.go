package schema

import (
	"strings"
	"unicode/utf8"
)

// maxSteps bounds the work of a check, in units of about a part that looks at a value. It is some tenths of a second.
const maxSteps = 2_000_000

// checker checks one value. It stops at the first thing that is wrong, unless it reports.
type checker struct {
	d     *document
	steps int
	// report makes it go on and note what is wrong. Checks whose failure is not the value's fault never do.
	report bool
	issues []issue
	path   []any
}

// issue is something wrong with a value.
type issue struct {
	path []any
	text string
	// unknown and missing keys are told in other words; known are those that may be meant.
	unknown, missing string
	known            []string
}

const maxIssues = 5

// seen notes what of an array or object was looked at, for unevaluatedItems and unevaluatedProperties.
type seen struct {
	props    map[string]bool
	allProps bool
	items    int // those before this one
	some     map[int]bool
	allItems bool
}

func (s *seen) prop(key string) {
	if s == nil {
		return
	}
	if s.props == nil {
		s.props = map[string]bool{}
	}
	s.props[key] = true
}

func (s *seen) item(i int) {
	if s == nil {
		return
	}
	if s.some == nil {
		s.some = map[int]bool{}
	}
	s.some[i] = true
}

func (s *seen) merge(o *seen) {
	for key := range o.props {
		s.prop(key)
	}
	for i := range o.some {
		s.item(i)
	}
	s.allProps = s.allProps || o.allProps
	s.allItems = s.allItems || o.allItems
	s.items = max(s.items, o.items)
}

// over tells whether the check took too long; then its outcome means nothing.
func (c *checker) over() bool { return c.steps < 0 }

// done tells whether there is no use in going on.
func (c *checker) done(ok bool) bool {
	return c.steps < 0 || !ok && (!c.report || len(c.issues) >= maxIssues)
}

// eval checks a value against a part of a schema. What was looked at is added to out, unless that is nil.
func (c *checker) eval(n *node, v *value, out *seen) bool {
	if c.steps--; c.steps < 0 {
		return false
	}
	if n.never {
		return c.fail("is not allowed")
	}
	if n.types != 0 && n.types&typeOf(v) == 0 {
		return c.mismatch(n, v)
	}
	if !c.oneOfValues(n, v) {
		return c.mismatch(n, v)
	}
	var own *seen
	if c.d.track {
		own = &seen{}
	}
	ok := true
	switch v.kind {
	case kindNumber:
		ok = c.number(n, v)
	case kindString:
		ok = c.text(n, v)
	}
	if c.done(ok) || !c.combined(n, v, own) {
		ok = false
	}
	if c.done(ok) {
		return false
	}
	switch v.kind {
	case kindArray:
		ok = c.array(n, v, own) && ok
	case kindObject:
		ok = c.object(n, v, own) && ok
	}
	if ok && out != nil {
		out.merge(own)
	}
	return ok && c.steps >= 0
}

// at checks a value inside the present one.
func (c *checker) at(where any, n *node, v *value) bool {
	if !c.report {
		return c.eval(n, v, nil)
	}
	c.path = append(c.path, where)
	ok := c.eval(n, v, nil)
	c.path = c.path[:len(c.path)-1]
	return ok
}

// probe checks whether a value would match, without a report.
func (c *checker) probe(n *node, v *value, out *seen) bool {
	report := c.report
	c.report = false
	ok := c.eval(n, v, out)
	c.report = report
	return ok
}

func typeOf(v *value) typeSet {
	switch v.kind {
	case kindNull:
		return typeNull
	case kindBool:
		return typeBool
	case kindNumber:
		if !strings.ContainsAny(v.text, ".eE") || parseNumber(v.text).isInteger() {
			return typeInteger
		}
		return typeNumber
	case kindString:
		return typeString
	case kindArray:
		return typeArray
	default:
		return typeObject
	}
}

// oneOfValues tells whether a value is one that the keywords enum and const allow.
func (c *checker) oneOfValues(n *node, v *value) bool {
	if n.constant != nil && !equal(n.constant, v, &c.steps) {
		return false
	}
	if n.enum == nil {
		return true
	}
	for _, e := range n.enum {
		if equal(e, v, &c.steps) {
			return true
		}
		if c.steps < 0 {
			break
		}
	}
	return false
}

func (c *checker) number(n *node, v *value) bool {
	if n.min == nil && n.max == nil && n.above == nil && n.below == nil && n.multiple == nil {
		return true
	}
	c.steps -= len(v.text) / 8
	x := parseNumber(v.text)
	switch {
	case n.min != nil && compare(x, *n.min) < 0,
		n.max != nil && compare(x, *n.max) > 0,
		n.above != nil && compare(x, *n.above) <= 0,
		n.below != nil && compare(x, *n.below) >= 0:
		return c.expected("a number of "+rangeText(n.src), v)
	case n.multiple != nil && !x.multipleOf(*n.multiple):
		return c.expected("a multiple of "+cut(n.src.get("multipleOf").text, 40), v)
	}
	return true
}

func (c *checker) text(n *node, v *value) bool {
	if n.minLen >= 0 || n.maxLen >= 0 {
		c.steps -= len(v.text) / 1024
		if l := utf8.RuneCountInString(v.text); l < n.minLen || n.maxLen >= 0 && l > n.maxLen {
			return c.expected(countText(n.minLen, n.maxLen, "character"), v)
		}
	}
	if n.pattern != nil && !n.pattern.match(v.text, &c.steps) {
		return c.expected("text that matches the regular expression "+cut(n.pattern.text, 120), v)
	}
	return true
}

// combined checks the parts that look at the same value.
func (c *checker) combined(n *node, v *value, own *seen) bool {
	ok := true
	if n.ref != nil && !c.eval(n.ref, v, own) {
		ok = false
	}
	for _, sub := range n.allOf {
		if c.done(ok) {
			return false
		}
		ok = c.eval(sub, v, own) && ok
	}
	if n.anyOf != nil && !c.done(ok) {
		ok = c.anyOf(n, v, own) && ok
	}
	if n.oneOf != nil && !c.done(ok) {
		ok = c.oneOf(n, v, own) && ok
	}
	if n.not != nil && !c.done(ok) && c.probe(n.not, v, nil) {
		ok = c.fail("is not allowed: got " + c.short(v))
	}
	if n.when != nil && !c.done(ok) {
		branch := n.elsed
		if c.probe(n.when, v, own) {
			branch = n.then
		}
		if branch != nil {
			ok = c.eval(branch, v, own) && ok
		}
	}
	return ok
}

func (c *checker) anyOf(n *node, v *value, own *seen) bool {
	found := false
	for _, sub := range n.anyOf {
		if c.probe(sub, v, own) {
			if found = true; own == nil {
				break // the others could only add to what was looked at
			}
		}
		if c.steps < 0 {
			return false
		}
	}
	return found || c.none(n, n.anyOf, v)
}

func (c *checker) oneOf(n *node, v *value, own *seen) bool {
	found := 0
	for _, sub := range n.oneOf {
		if c.probe(sub, v, own) {
			found++
		}
		if c.steps < 0 {
			return false
		}
	}
	switch found {
	case 0:
		return c.none(n, n.oneOf, v)
	case 1:
		return true
	default:
		return c.fail("fits several alternatives at once, but has to fit only one: got " + c.short(v))
	}
}

// none reports that no alternative fits. If there is only one that is meant, it says what is wrong with that.
func (c *checker) none(n *node, all []*node, v *value) bool {
	if !c.report {
		return false
	}
	var meant []*node
	for _, sub := range all {
		if c.means(sub, v) {
			meant = append(meant, sub)
		}
	}
	if len(meant) == 1 {
		before := len(c.issues)
		c.eval(meant[0], v, nil)
		if len(c.issues) > before {
			return false
		}
	}
	if text := c.alternatives(all); v.kind == kindObject && text != "" {
		return c.expected(text, v)
	}
	return c.mismatch(n, v)
}

// means tells whether a value may be meant for an alternative: it has the right type, and the constants in it are
// right.
func (c *checker) means(n *node, v *value) bool {
	for n.ref != nil {
		n = n.ref
	}
	if n.never || n.types != 0 && n.types&typeOf(v) == 0 || !c.oneOfValues(n, v) {
		return false
	}
	for i, key := range v.keys {
		if p := n.props[key]; p != nil && !c.oneOfValues(p, v.items[i]) {
			return false
		}
	}
	return true
}
