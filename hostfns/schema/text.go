package schema

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// cut shortens a text to about n bytes, with three dots when something is missing.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n-3, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// clean makes text that a server wrote fit to be shown: valid UTF-8 without control characters, and without those
// that hide text or turn its direction. Newlines and tabs stay. The result has about n bytes at most.
func clean(s string, n int) string {
	// More than the bound is never looked at; a little more than is kept, since some of it may go.
	if len(s) > 2*n+64 {
		s = cut(s, 2*n+64)
	}
	if !plain(s) {
		s = strings.Map(func(r rune) rune {
			if r != '\n' && r != '\t' && !visible(r) {
				return -1
			}
			return r
		}, newlines.Replace(strings.ToValidUTF8(s, "�")))
	}
	return cut(strings.TrimSpace(s), n)
}

// cleanLine is clean for what has to be a single line.
func cleanLine(s string, n int) string {
	return cut(strings.Join(strings.Fields(clean(s, 2*n)), " "), n)
}

// visible tells whether a character shows. Format characters, which reorder or hide text, do not, except for the
// joiners that some scripts and emoji need.
func visible(r rune) bool {
	switch {
	case r == '\u200c', r == '\u200d':
		return true
	case r >= 0xE0100 && r <= 0xE01EF, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
		// Variation selectors that no font needs, and fillers: text could be hidden in them.
		return false
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)
}

// pythonString returns a Python string literal of s in quotes. It is exact, except that bytes which are no UTF-8 are
// replaced.
func pythonString(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			b.WriteString(`\x` + hexDigits(r, 2))
		case r < 0x10000:
			b.WriteString(`\u` + hexDigits(r, 4))
		default:
			b.WriteString(`\U` + hexDigits(r, 8))
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func hexDigits(r rune, n int) string {
	h := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", n-len(h)) + h
}

// pythonValue writes a JSON value as a Python literal of about n bytes; what is longer is cut, with three dots.
func pythonValue(v *value, n int) string {
	var b strings.Builder
	writePython(&b, v, n)
	return cut(b.String(), n)
}

func writePython(b *strings.Builder, v *value, n int) {
	if b.Len() > n {
		return
	}
	switch v.kind {
	case kindNull:
		b.WriteString("None")
	case kindBool:
		if v.yes {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case kindNumber:
		b.WriteString(cut(v.text, n))
	case kindString:
		b.WriteString(pythonString(cut(v.text, n)))
	case kindArray:
		b.WriteByte('[')
		for i, item := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			if b.Len() > n {
				break
			}
			writePython(b, item, n)
		}
		b.WriteByte(']')
	case kindObject:
		b.WriteByte('{')
		for i, item := range v.items {
			if i > 0 {
				b.WriteString(", ")
			}
			if b.Len() > n {
				break
			}
			b.WriteString(pythonString(cut(v.keys[i], n)))
			b.WriteString(": ")
			writePython(b, item, n)
		}
		b.WriteByte('}')
	}
}

// newlines makes all that ends a line, here or there, the same.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\f", "\n", "\v", "\n", "\u0085", "\n")

// plain tells whether a text has nothing to clean, as most have: printable ASCII, tabs and newlines.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' && c != '\n' && c != '\t') || c >= 0x7f {
			return false
		}
	}
	return true
}
