package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of what is parsed. They hold memory and time within what a call is worth.
const (
	// MaxArgs bounds the arguments of a call in bytes. Larger data is passed in a file.
	MaxArgs = 16 << 20
	// MaxResult bounds a structured result that is checked, in bytes.
	MaxResult = 64 << 20
	// MaxSchema bounds a schema in bytes; real ones have some kilobytes.
	MaxSchema = 1 << 20
	// MaxDepth bounds how deep arguments, results and schemas are nested. Many servers have a bound near this one.
	MaxDepth = 100

	maxArgValues   = 250_000
	maxSchemaParts = 50_000
	// maxDigits is about what Python converts to an integer without being told to.
	maxDigits = 5000
)

// limits of a parser.
type limits struct {
	bytes, depth, values int
	// lenient parsers take the last of equal keys and replace what is no Unicode, as encoding/json does. Others
	// refuse both: a server might see other values than those that were checked.
	lenient bool
}

// parseError says what is wrong with JSON, and where.
type parseError struct {
	// where are the keys and indices that lead there, innermost first.
	where  []any
	reason string
	limit  bool
}

func (e *parseError) Error() string {
	if len(e.where) == 0 {
		return e.reason
	}
	return e.path() + " " + e.reason
}

func (e *parseError) path() string {
	path := slices.Clone(e.where)
	slices.Reverse(path)
	return pathText(path)
}

// Unwrap lets errors.Is find the sentinel.
func (e *parseError) Unwrap() error {
	if e.limit {
		return ErrTooComplex
	}
	return ErrInvalid
}

type parser struct {
	s      string
	at     int
	depth  int
	values int
	limits limits
	// slab holds values that are not handed out yet: one allocation serves many.
	slab []value
}

// parseJSON reads one JSON value.
func parseJSON(data string, l limits) (*value, error) {
	p := &parser{s: data, limits: l}
	if len(data) > l.bytes {
		return nil, p.tooMuch("has %d bytes, more than the %d that are allowed", len(data), l.bytes)
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.s) {
		return nil, p.fail("is not JSON: there is more after its end, at byte %d", p.at)
	}
	return v, nil
}

func (p *parser) fail(format string, args ...any) error {
	return &parseError{reason: fmt.Sprintf(format, args...)}
}

func (p *parser) tooMuch(format string, args ...any) error {
	return &parseError{reason: fmt.Sprintf(format, args...), limit: true}
}

// within adds to where an error is.
func within(err error, at any) error {
	var e *parseError
	if errors.As(err, &e) {
		e.where = append(e.where, at)
	}
	return err
}

func (p *parser) space() {
	for p.at < len(p.s) {
		switch p.s[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) take(text string) bool {
	if strings.HasPrefix(p.s[p.at:], text) {
		p.at += len(text)
		return true
	}
	return false
}

func (p *parser) value() (*value, error) {
	if p.values++; p.values > p.limits.values {
		return nil, p.tooMuch("has more than %d values; pass large data in a file or as text", p.limits.values)
	}
	if len(p.slab) == 0 {
		p.slab = make([]value, min(max(8, p.values), 1024))
	}
	v := &p.slab[0]
	p.slab = p.slab[1:]
	p.space()
	if p.at == len(p.s) {
		return nil, p.fail("is not JSON: it ends too early")
	}
	switch c := p.s[p.at]; {
	case c == '{' || c == '[':
		return v, p.nested(v, c)
	case c == '"':
		v.kind = kindString
		var err error
		v.text, err = p.str()
		return v, err
	case c == '-' || c >= '0' && c <= '9':
		return v, p.number(v)
	case p.take("true"):
		v.kind, v.yes = kindBool, true
	case p.take("false"):
		v.kind = kindBool
	case p.take("null"):
	case p.take("NaN"), p.take("Infinity"):
		return nil, p.fail("NaN and Infinity do not exist in JSON; pass None or a string")
	default:
		return nil, p.fail("is not JSON: unexpected %q at byte %d", firstRune(p.s[p.at:]), p.at)
	}
	return v, nil
}

func (p *parser) nested(v *value, open byte) error {
	if p.depth++; p.depth > p.limits.depth {
		return p.tooMuch("is nested deeper than %d levels", p.limits.depth)
	}
	p.at++
	end := byte(']')
	if v.kind = kindArray; open == '{' {
		v.kind, end = kindObject, '}'
	}
	for p.space(); ; p.space() {
		if p.at < len(p.s) && p.s[p.at] == end && len(v.items) == 0 {
			break
		}
		if err := p.member(v); err != nil {
			return err
		}
		if p.space(); p.at == len(p.s) {
			return p.fail("is not JSON: it ends too early")
		}
		if p.s[p.at] == end {
			break
		}
		if !p.take(",") {
			return p.fail("is not JSON: unexpected %q at byte %d", firstRune(p.s[p.at:]), p.at)
		}
	}
	p.at++
	p.depth--
	return nil
}

// member reads an item of an array or object.
func (p *parser) member(v *value) error {
	if v.kind == kindArray {
		item, err := p.value()
		if err != nil {
			return within(err, len(v.items))
		}
		v.items = append(v.items, item)
		return nil
	}
	if p.at == len(p.s) || p.s[p.at] != '"' {
		return p.fail("is not JSON: a key in double quotes is missing at byte %d", p.at)
	}
	key, err := p.str()
	if err != nil {
		return err
	}
	if p.space(); !p.take(":") {
		return p.fail("is not JSON: a colon is missing at byte %d", p.at)
	}
	item, err := p.value()
	if err != nil {
		return within(err, key)
	}
	if i := v.find(key); i >= 0 {
		if !p.limits.lenient {
			return within(p.fail("is given twice"), key)
		}
		v.items[i] = item
		return nil
	}
	v.add(key, item)
	return nil
}

func (v *value) find(key string) int {
	if v.index != nil {
		if i, ok := v.index[key]; ok {
			return i
		}
		return -1
	}
	return slices.Index(v.keys, key)
}

func (v *value) add(key string, item *value) {
	if v.keys == nil {
		v.keys, v.items = make([]string, 0, 4), make([]*value, 0, 4)
	}
	v.keys, v.items = append(v.keys, key), append(v.items, item)
	switch {
	case v.index != nil:
		v.index[key] = len(v.keys) - 1
	case len(v.keys) == indexFrom:
		v.index = make(map[string]int, 2*indexFrom)
		for i, k := range v.keys {
			v.index[k] = i
		}
	}
}

// sorted returns the places of an object's members in the order of their keys.
func (v *value) sorted() []int {
	places := make([]int, len(v.keys))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(a, b int) int { return strings.Compare(v.keys[a], v.keys[b]) })
	return places
}

func (p *parser) number(v *value) error {
	start := p.at
	digits := func() bool {
		from := p.at
		for p.at < len(p.s) && p.s[p.at] >= '0' && p.s[p.at] <= '9' {
			p.at++
		}
		return p.at > from
	}
	p.take("-")
	if p.take("Infinity") {
		return p.fail("NaN and Infinity do not exist in JSON; pass None or a string")
	}
	ok := p.take("0") || digits()
	if ok && p.take(".") {
		ok = digits()
	}
	if ok && (p.take("e") || p.take("E")) {
		_ = p.take("+") || p.take("-")
		ok = digits()
	}
	if !ok {
		return p.fail("is not JSON: a number is not complete at byte %d", p.at)
	}
	if p.at-start > maxDigits {
		return p.tooMuch("is a number with more than %d digits; pass it as text", maxDigits)
	}
	v.kind, v.text = kindNumber, p.s[start:p.at]
	return nil
}
