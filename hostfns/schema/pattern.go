package schema

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// regexp compiles a regular expression, nil if it has to be passed over: schemas have those of JavaScript, and some
// of what these can do (to look ahead, above all) would make matching take for ever on the wrong input.
func (c *compiler) regexp(source string) *pattern {
	if source == "" || len(source) > maxPattern || c.patterns >= maxPatterns {
		return nil
	}
	c.patterns++
	expr := fromJavaScript(source)
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	size := instructions(tree)
	if size > maxPatternSize {
		return nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil
	}
	return &pattern{re: re, text: source, size: size}
}

// match tells whether a string matches; it takes from steps what that costs. Very long strings count as matching.
func (p *pattern) match(s string, steps *int) bool {
	if *steps--; p.any || len(s) > maxPatternInput {
		return true
	}
	*steps -= len(s) * p.size / 16
	return *steps >= 0 && p.re.MatchString(s)
}

// fromJavaScript rewrites the escape \u0041, which has another spelling here. All others that both know mean the
// same.
func fromJavaScript(s string) string {
	if !strings.Contains(s, `\u`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] == 'u' && i+4 < len(s) && isHex(s[i+1:i+5]) {
			b.WriteString(`\x{` + s[i+1:i+5] + `}`)
			i += 4
			continue
		}
		b.WriteByte('\\')
		b.WriteByte(s[i])
	}
	return b.String()
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// instructions estimates how large a regular expression becomes when it is compiled, without doing that.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/8
	if re.Op == syntax.OpLiteral {
		n = 1 + len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 1<<20)
}
