package hostfns

import (
	"cmp"
	"slices"
	"strings"
)

func compare(a, b string) int { return strings.Compare(a, b) }

// hintNames tells which names there are, those first that are like the one asked for.
func hintNames(what, name string, known []string) string {
	const most = 5
	if len(known) == 0 {
		return "there are no " + what + " here"
	}
	if close := nearest(name, known, most); len(close) > 0 {
		return "did you mean " + strings.Join(close, ", ") + "?"
	}
	if len(known) > 2*most {
		return "there are " + itoa(len(known)) + " " + what + "; search them"
	}
	return what + " are: " + strings.Join(known, ", ")
}

// nearest returns at most n of the names that are like one, the likest first.
func nearest(name string, known []string, n int) []string {
	type candidate struct {
		name  string
		score int
	}
	const longest = 64 // longer names are compared by their beginning: the time grows with the square
	plain := plainName(name, longest)
	var all []candidate
	for _, k := range known {
		p := plainName(k, longest)
		score := distance(plain, p)
		if len(plain) >= 3 && (strings.Contains(p, plain) || len(p) >= 3 && strings.Contains(plain, p)) {
			score = min(score, 2)
		}
		if score <= min(1+len(plain)/4, 6) {
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

func plainName(s string, n int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s[:min(len(s), 4*n)]) {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 0x80 {
			b.WriteRune(r)
		}
	}
	s = b.String()
	return s[:min(len(s), n)]
}

// distance is the number of bytes to insert, remove or replace.
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
