package schema

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string, whose quote is the next byte. The result shares the memory of the input where it can.
func (p *parser) str() (string, error) {
	p.at++
	start := p.at
	for p.at < len(p.s) {
		switch c := p.s[p.at]; {
		case c == '"':
			p.at++
			return p.s[start : p.at-1], nil
		case c == '\\' || c < ' ' || c >= utf8.RuneSelf:
			return p.unquote(start)
		}
		p.at++
	}
	return "", p.fail("is not JSON: a string has no end")
}

// unquote reads the rest of a string that has something special in it.
func (p *parser) unquote(start int) (string, error) {
	var b []byte // nil as long as the string is what is written
	plain := start
	for p.at < len(p.s) {
		c := p.s[p.at]
		switch {
		case c == '"':
			p.at++
			if b == nil {
				return p.s[start : p.at-1], nil
			}
			return string(append(b, p.s[plain:p.at-1]...)), nil
		case c == '\\':
			b = append(b, p.s[plain:p.at]...)
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
			if b == nil {
				b = []byte{}
			}
			plain = p.at
		case c < ' ':
			return "", p.fail("is not JSON: a string has the control character %q", rune(c))
		case c < utf8.RuneSelf:
			p.at++
		default:
			r, n := utf8.DecodeRuneInString(p.s[p.at:])
			if r == utf8.RuneError && n == 1 {
				if !p.limits.lenient {
					return "", p.fail("has bytes that are no UTF-8")
				}
				b = utf8.AppendRune(append(b, p.s[plain:p.at]...), utf8.RuneError)
				plain = p.at + 1
			}
			p.at += n
		}
	}
	return "", p.fail("is not JSON: a string has no end")
}

// escape reads an escape sequence.
func (p *parser) escape() (rune, error) {
	p.at++
	if p.at == len(p.s) {
		return 0, p.fail("is not JSON: a string has no end")
	}
	c := p.s[p.at]
	p.at++
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	r, ok := p.hex(c)
	if !ok {
		return 0, p.fail("is not JSON: a string has the wrong escape \\%c", firstRune(p.s[p.at-1:]))
	}
	if !utf16.IsSurrogate(r) {
		return r, nil
	}
	if strings.HasPrefix(p.s[p.at:], `\u`) {
		before := p.at
		p.at += 2
		if low, ok := p.hex('u'); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, nil
			}
		}
		p.at = before
	}
	if !p.limits.lenient {
		return 0, p.fail("has the lone surrogate \\u%04x, which is no text; "+
			`clean it with s.encode("utf-8", "replace").decode()`, r)
	}
	return utf8.RuneError, nil
}

// hex reads the four digits after \u.
func (p *parser) hex(c byte) (rune, bool) {
	if c != 'u' || len(p.s)-p.at < 4 {
		return 0, false
	}
	var r rune
	for _, d := range []byte(p.s[p.at : p.at+4]) {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	p.at += 4
	return r, true
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
