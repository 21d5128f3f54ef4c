package schema

import (
	"strconv"
	"strings"
)

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// value is a parsed JSON value. Unlike what encoding/json makes, it keeps the order of keys and the digits of
// numbers.
type value struct {
	kind kind
	yes  bool
	// text is a string's content, or a number as it is written.
	text string
	// items are those of an array, or the values of an object.
	items []*value
	// keys are an object's, in their order.
	keys []string
	// index finds keys of an object that has many.
	index map[string]int
}

// indexFrom is the number of keys from which a map finds one faster than a comparison with all.
const indexFrom = 12

// get returns the value of a key, nil if there is none or v is no object.
func (v *value) get(key string) *value {
	if v == nil || v.kind != kindObject {
		return nil
	}
	if v.index != nil {
		if i, ok := v.index[key]; ok {
			return v.items[i]
		}
		return nil
	}
	for i, k := range v.keys {
		if k == key {
			return v.items[i]
		}
	}
	return nil
}

// str returns the string under a key, empty if there is none.
func (v *value) str(key string) string {
	if s := v.get(key); s != nil && s.kind == kindString {
		return s.text
	}
	return ""
}

// int returns the count under a key, -1 if there is none or it makes no sense.
func (v *value) int(key string) int {
	n := v.get(key)
	if n == nil || n.kind != kindNumber {
		return -1
	}
	if i, err := strconv.ParseInt(n.text, 10, 32); err == nil && i >= 0 {
		return int(i)
	}
	// 3.0 is an integer too.
	if f, err := strconv.ParseFloat(n.text, 64); err == nil && f >= 0 && f < 1<<31 && f == float64(int(f)) {
		return int(f)
	}
	return -1
}

// list returns the array under a key, nil if there is none.
func (v *value) list(key string) []*value {
	if a := v.get(key); a != nil && a.kind == kindArray {
		return a.items
	}
	return nil
}

// isBool tells whether v is this boolean.
func (v *value) isBool(b bool) bool { return v != nil && v.kind == kindBool && v.yes == b }

// equal compares as JSON schema does: 1 is 1.0, the order of keys means nothing. It takes from steps, and gives up
// when there are none left.
func equal(a, b *value, steps *int) bool {
	if *steps--; *steps < 0 || a.kind != b.kind {
		return false
	}
	switch a.kind {
	case kindBool:
		return a.yes == b.yes
	case kindString:
		if len(a.text) != len(b.text) {
			return false
		}
		*steps -= len(a.text) / 256
		return a.text == b.text
	case kindNumber:
		*steps -= (len(a.text) + len(b.text)) / 16
		return a.text == b.text || compare(parseNumber(a.text), parseNumber(b.text)) == 0
	case kindArray, kindObject:
		if len(a.items) != len(b.items) {
			return false
		}
		for i, x := range a.items {
			y := b.items[i]
			if a.kind == kindObject && a.keys[i] != b.keys[i] {
				if y = b.get(a.keys[i]); y == nil {
					return false
				}
			}
			if !equal(x, y, steps) {
				return false
			}
		}
	}
	return true
}

// canonical appends a text that is the same for equal values only.
func (v *value) canonical(b *strings.Builder) {
	switch v.kind {
	case kindNull:
		b.WriteByte('n')
	case kindBool:
		b.WriteString(strconv.FormatBool(v.yes))
	case kindNumber:
		n := parseNumber(v.text)
		b.WriteString(n.digits)
		b.WriteByte('e')
		b.WriteString(strconv.Itoa(n.exp))
		if n.neg {
			b.WriteByte('-')
		}
	case kindString:
		b.WriteString(strconv.Itoa(len(v.text)))
		b.WriteByte('"')
		b.WriteString(v.text)
	case kindArray:
		b.WriteByte('[')
		for _, item := range v.items {
			item.canonical(b)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case kindObject:
		b.WriteByte('{')
		for _, i := range v.sorted() {
			b.WriteString(strconv.Itoa(len(v.keys[i])))
			b.WriteByte('"')
			b.WriteString(v.keys[i])
			v.items[i].canonical(b)
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}
