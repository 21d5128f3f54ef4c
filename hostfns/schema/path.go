package schema

import (
	"strconv"
	"strings"
)

// pathText writes keys and indices as code would: items[3].name, headers["x-a"].
func pathText(path []any) string {
	var b strings.Builder
	for _, p := range path {
		if b.Len() > 200 {
			b.WriteString("...")
			break
		}
		switch p := p.(type) {
		case int:
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(p))
			b.WriteByte(']')
		case string:
			switch {
			case !isPlainName(p):
				b.WriteByte('[')
				b.WriteString(pythonString(cut(p, 60)))
				b.WriteByte(']')
			case b.Len() > 0:
				b.WriteByte('.')
				fallthrough
			default:
				b.WriteString(p)
			}
		}
	}
	return b.String()
}

// isPlainName tells whether s can stand in a path without quotes.
func isPlainName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i, c := range []byte(s) {
		switch {
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return true
}
