package secrets

import (
	"slices"
	"strings"
)

// automaton finds all patterns in one pass, as Aho and Corasick have it. States are numbered by breadth, so that the
// children of a state are neighbours and shorter prefixes come first. It does not change once it is made.
type automaton struct {
	root  [256]int32 // the root's children by byte; 0 is none
	label []byte     // the byte that leads to a state
	first []int32    // the children of state s are first[s] to first[s+1]
	fail  []int32    // the longest other state that is a suffix of this one
	depth []int32
	out   []int32 // the longest pattern that is a suffix of this state, as the state where it ends; 0 is none
	hold  []int32 // the length of the longest suffix that a pattern may begin with and go on
	name  []int32 // of the pattern that ends at a state
	names []string
	// skip has a bit for each group of three bytes, hashed, which a pattern has in its first six.
	skip [skipBits / 64]uint64
}

const (
	skipBits   = 1 << 18
	skipStride = MinValue - 2 // a pattern that begins in as many bytes has a group at the same place
)

func skipHash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 0x9E3779B1 >> (32 - 18)
}

type keyword struct {
	text string
	name int32
}

func newAutomaton(names []string, secrets map[string]*secret) *automaton {
	a := &automaton{names: names}
	var words []keyword
	for i, n := range names {
		for _, e := range encodings(secrets[n].value) {
			words = append(words, keyword{e, int32(i)})
		}
	}
	// Sorted, the patterns below a state are neighbours. Of two secrets with one value the first name counts.
	slices.SortStableFunc(words, func(x, y keyword) int { return strings.Compare(x.text, y.text) })
	words = slices.CompactFunc(words, func(x, y keyword) bool { return x.text == y.text })
	for _, w := range words {
		for i := range skipStride {
			h := skipHash(w.text[i], w.text[i+1], w.text[i+2])
			a.skip[h/64] |= 1 << (h % 64)
		}
	}
	a.grow(words)
	a.link()
	return a
}

// grow makes the states.
func (a *automaton) grow(words []keyword) {
	type span struct{ lo, hi int }
	level := []span{{0, len(words)}}
	add := func(label byte, depth, name int32) {
		a.label = append(a.label, label)
		a.depth = append(a.depth, depth)
		a.name = append(a.name, name)
	}
	add(0, 0, -1)
	for depth := 0; len(level) > 0; depth++ {
		var next []span
		for _, s := range level {
			a.first = append(a.first, int32(len(a.label)))
			lo := s.lo
			if lo < s.hi && len(words[lo].text) == depth {
				lo++ // it ends here
			}
			for lo < s.hi {
				c := words[lo].text[depth]
				hi := lo + 1
				for hi < s.hi && words[hi].text[depth] == c {
					hi++
				}
				name := int32(-1)
				if len(words[lo].text) == depth+1 {
					name = words[lo].name
				}
				if depth == 0 {
					a.root[c] = int32(len(a.label))
				}
				add(c, int32(depth+1), name)
				next = append(next, span{lo, hi})
				lo = hi
			}
		}
		level = next
	}
	a.first = append(a.first, int32(len(a.label)))
}

// link makes what depends on suffixes: shorter states first.
func (a *automaton) link() {
	n := len(a.label)
	a.fail, a.out, a.hold = make([]int32, n), make([]int32, n), make([]int32, n)
	for s := range int32(n) {
		f := a.fail[s]
		a.out[s], a.hold[s] = a.out[f], a.hold[f]
		if a.name[s] >= 0 {
			a.out[s] = s
		}
		if a.first[s] < a.first[s+1] {
			a.hold[s] = a.depth[s]
		}
		for c := a.first[s]; c < a.first[s+1]; c++ {
			if s != 0 {
				a.fail[c] = a.next(f, a.label[c])
			}
		}
	}
}

// next is the state after another byte.
func (a *automaton) next(s int32, c byte) int32 {
	for s != 0 {
		for k, end := a.first[s], a.first[s+1]; k < end; k++ {
			if a.label[k] == c {
				return k
			}
		}
		s = a.fail[s]
	}
	return a.root[c]
}

// scan goes on in state s at b[i], until a pattern ends, which is the state out, or b does, and then out is 0. It returns
// the index after the last byte that it took.
func (a *automaton) scan(s int32, b []byte, i int) (state int32, end int, out int32) {
	for i < len(b) {
		if s == 0 {
			for i+MinValue <= len(b) {
				h := skipHash(b[i+MinValue-3], b[i+MinValue-2], b[i+MinValue-1])
				if a.skip[h/64]&(1<<(h%64)) != 0 {
					break
				}
				i += skipStride
			}
		}
		// A pattern may begin in any of these bytes. Those after them are looked at again, unless one has begun.
		for until := i + skipStride; i < len(b) && (s != 0 || i < until); {
			s = a.next(s, b[i])
			i++
			if a.out[s] != 0 {
				return s, i, a.out[s]
			}
		}
	}
	return s, i, 0
}
