package schema

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxName bounds names in bytes. It is above what MCP recommends for tools.
const maxName = 64

// Python's keywords, soft ones included: those are valid names, but a line that begins with one reads as a statement.
var pythonKeywords = words("False None True and as assert async await break class continue def del elif else except finally " +
	"for from global if import in is lambda nonlocal not or pass raise return try while with yield")

var pythonSoft = words("case match type lazy")

// pythonTypes are the built-in names that annotations use. A function of such a name in a module, or imported from
// there, would give another meaning to all annotations after it.
var pythonTypes = words("Any Callable Generic Literal ParamSpec Tool TypeVar bool bytes dict float int list object set str tuple")

// toolsNames are those of the package "tools" itself, which no server can have.
var toolsNames = words("ToolError describe search servers")

func words(s string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		m[w] = true
	}
	return m
}

// PythonNames returns the names of a server's tools as functions in Python, in the same order. They are valid,
// different from each other, and at most 64 bytes long. A name that is one already stays; camel case too. Which of
// several tools gets the plain name, and which one a number, does not depend on their order.
func PythonNames(originals []string) []string {
	return pythonUnique(originals, "tool", pythonKeywords, pythonSoft, pythonTypes)
}

// PythonModules returns the names of tool servers as modules in the package "tools", like PythonNames.
func PythonModules(servers []string) []string {
	return pythonUnique(servers, "server", pythonKeywords, pythonSoft, pythonTypes, toolsNames)
}

// pythonParams returns the names of arguments. Only what is no identifier is changed, since nothing else is in scope.
func pythonParams(keys []string) []string {
	return pythonUnique(keys, "arg", pythonKeywords)
}

// pythonUnique makes names that are different from each other and from what is reserved.
func pythonUnique(originals []string, empty string, reserved ...map[string]bool) []string {
	names := make([]string, len(originals))
	taken := make(map[string]bool, len(originals))
	var rest []int
	for i, original := range originals {
		names[i] = pythonName(original, empty, reserved)
		// Who is called so anyway has the first right to a name.
		if names[i] == original && !taken[original] {
			taken[original] = true
			continue
		}
		rest = append(rest, i)
	}
	slices.SortStableFunc(rest, func(a, b int) int { return strings.Compare(originals[a], originals[b]) })
	next := map[string]int{}
	for _, i := range rest {
		base, name := names[i], names[i]
		for n := max(2, next[base]); taken[name]; n++ {
			suffix := "_" + strconv.Itoa(n)
			name = cutName(base, maxName-len(suffix)) + suffix
			next[base] = n + 1
		}
		names[i], taken[name] = name, true
	}
	return names
}

// pythonName makes an identifier of one name. It never begins with an underscore, except before a digit: such names
// are Python's own, or not imported by *.
func pythonName(original, empty string, reserved []map[string]bool) string {
	var b strings.Builder
	gap := false
	for i, r := range original {
		if i > 4*maxName {
			break
		}
		if !identifierRune(r) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('_')
		}
		gap = false
		b.WriteRune(r)
	}
	name := strings.TrimLeft(b.String(), "_")
	if len(name) < b.Len() {
		name = strings.TrimRight(name, "_") // __init__, _private_
	}
	name = cutName(name, maxName-1)
	switch {
	case name == "":
		return empty
	case name[0] >= '0' && name[0] <= '9':
		return "_" + name
	}
	for _, r := range reserved {
		if r[name] {
			return name + "_"
		}
	}
	return name
}

func cutName(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// identifierRune tells whether a character may be in a name. Besides ASCII these are letters that Python takes as
// they are: it normalises identifiers (NFKC), and what that changes would be found under another name. None of them
// combines with its neighbours.
func identifierRune(r rune) bool {
	switch {
	case r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z':
		return true
	case r < 0xC0:
		return false
	case r <= 0xFF: // Latin-1
		return r != 0xD7 && r != 0xF7
	case r <= 0x17F: // Latin Extended-A
		return !slices.Contains([]rune{0x132, 0x133, 0x13F, 0x140, 0x149, 0x17F}, r)
	case r >= 0x391 && r <= 0x3C9: // Greek
		return r != 0x3A2
	case r >= 0x400 && r <= 0x481: // Cyrillic
		return true
	case r >= 0x5D0 && r <= 0x5EA: // Hebrew
		return true
	case r >= 0x3041 && r <= 0x3096, r >= 0x30A1 && r <= 0x30FA: // Hiragana, Katakana
		return true
	case r >= 0x4E00 && r <= 0x9FFF: // CJK
		return true
	default:
		return r >= 0xAC00 && r <= 0xD7A3 // Hangul
	}
}
