package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// stopWords say nothing about what a tool does.
var stopWords = words("a an and are as at be by can for from i if in into is it its me my of on or our please so that the this " +
	"to tool use used using via want we what which will with you your how do does")

// synonyms are words that servers and those who look for their tools use for the same.
var synonyms = groups(
	"add sum plus total", "create new make insert", "delete remove erase drop", "get fetch read load show retrieve",
	"find search query lookup", "list enumerate", "update edit modify change", "write save store", "send post",
	"run execute", "file document", "folder directory", "image picture photo", "start begin", "stop end", "repo repository",
	"move rename", "message mail email",
)

func groups(all ...string) map[string][]string {
	m := map[string][]string{}
	for _, group := range all {
		members := terms(group)
		for _, w := range members {
			for _, other := range members {
				if other != w {
					m[w] = append(m[w], other)
				}
			}
		}
	}
	return m
}

// terms splits text into words as the index knows them: snake and camel case in parts, lower case, without endings.
func terms(s string) []string {
	var all []string
	add := func(w string) {
		if w = strings.ToLower(w); !stopWords[w] {
			all = append(all, stem(w))
		}
	}
	start, last := -1, rune(0)
	for i, r := range s {
		word := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
		split := start >= 0 && (!word || camel(last, r, s[i:]))
		// Scripts without spaces: each character is a word.
		if ideograph(r) || ideograph(last) {
			split = start >= 0
		}
		if split {
			add(s[start:i])
			start = -1
		}
		if word && start < 0 {
			start = i
		}
		last = r
	}
	if start >= 0 {
		add(s[start:])
	}
	return all
}

// camel tells whether a new word begins with r: getSum, HTTPServer, but not v2.
func camel(last, r rune, rest string) bool {
	if !unicode.IsUpper(r) {
		return false
	}
	if !unicode.IsUpper(last) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(rest[utf8.RuneLen(r):])
	return unicode.IsLower(next)
}

func ideograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// stem takes the endings off that make no difference here: plural s, ing, ed. It is light: both sides get the same,
// and a wrong stem does no harm then.
func stem(w string) string {
	switch n := len(w); {
	case n > 4 && strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "xes") || strings.HasSuffix(w, "ches") ||
		strings.HasSuffix(w, "shes")):
		w = w[:n-2]
	case n > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") &&
		!strings.HasSuffix(w, "is"):
		w = w[:n-1]
	}
	switch n := len(w); {
	case n > 5 && strings.HasSuffix(w, "ing"):
		w = undouble(w[:n-3])
	case n > 4 && strings.HasSuffix(w, "ed") && w[n-3] != 'e':
		w = undouble(w[:n-2])
	}
	// create, creating, created
	if n := len(w); n > 4 && strings.HasSuffix(w, "e") {
		w = w[:n-1]
	}
	return w
}

// undouble makes "runn" of "running" the same as "run".
func undouble(w string) string {
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		return w[:n-1]
	}
	return w
}
