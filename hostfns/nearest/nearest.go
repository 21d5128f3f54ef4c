// Package nearest finds the name that was probably meant, for the errors about one that is not known.
package nearest

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// longest is how many bytes of a name are compared: the time grows with the square.
	longest = 64
	// most bounds the known names that are looked at.
	most = 10_000
)

// Names returns at most n of the known names that are like one, the likest first. Case and punctuation do not count.
func Names(name string, known []string, n int) []string {
	type candidate struct {
		name  string
		score int
	}
	plain := fold(name)
	limit := min(1+len(plain)/4, 6)
	if len(plain) < 3 {
		limit = 0 // any two letters are near
	}
	var all []candidate
	for _, k := range known[:min(len(known), most)] {
		p := fold(k)
		score := distance(plain, p)
		if len(plain) >= 3 && (strings.Contains(p, plain) || len(p) >= 3 && strings.Contains(plain, p)) {
			score = min(score, 2)
		}
		if score <= limit {
			all = append(all, candidate{k, score})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.score, b.score) })
	var out []string
	for _, c := range all[:min(n, len(all))] {
		out = append(out, c.name)
	}
	return out
}

// Name returns the likest one, empty if none is.
func Name(name string, known []string) string {
	if found := Names(name, known, 1); len(found) > 0 {
		return found[0]
	}
	return ""
}

// fold removes what differs in spelling only: maxResults, max_results.
func fold(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s[:min(len(s), 4*longest)]) {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 0x80 {
			b.WriteRune(r)
		}
	}
	s = b.String()
	return s[:min(len(s), longest)]
}

// distance is the number of bytes to insert, remove or replace (Levenshtein).
func distance(a, b string) int {
	if d := len(a) - len(b); d > 16 || d < -16 {
		return 17
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := last
			if a[i] != b[j] {
				d = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
