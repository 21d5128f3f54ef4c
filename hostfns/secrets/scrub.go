package secrets

import "bytes"

// region is a piece of text that matches of patterns cover without a gap. It is named for the longest of them.
type region struct {
	start, end int64
	length     int32 // of the longest match
	name       int32
}

// cover adds a match to regions, which are apart and in order, and joins those that it overlaps. Nothing of two secrets
// that overlap is left that way.
func cover(all []region, m region) []region {
	for n := len(all); n > 0 && all[n-1].end > m.start; n-- {
		last := all[n-1]
		m.start = min(m.start, last.start)
		if last.length >= m.length {
			m.length, m.name = last.length, last.name
		}
		all = all[:n-1]
	}
	return append(all, m)
}

func (a *automaton) match(out int32, end int64) region {
	n := a.depth[out]
	return region{start: end - int64(n), end: end, length: n, name: a.name[out]}
}

func (s *Set) regions(b []byte) []region {
	if s.empty() {
		return nil
	}
	a := s.in.find
	var all []region
	for state, i := int32(0), 0; ; {
		var out int32
		state, i, out = a.scan(state, b, i)
		if out == 0 {
			return all
		}
		all = cover(all, a.match(out, int64(i)))
	}
}

// Scrub replaces the real values in b, also in other encodings (see the package), by placeholders. It returns b itself
// when there are none, and never changes b. Where values overlap, all of it becomes one placeholder, of the longest.
func (s *Set) Scrub(b []byte) []byte {
	all := s.regions(b)
	if len(all) == 0 {
		return b
	}
	var out bytes.Buffer
	from := int64(0)
	for _, r := range all {
		out.Write(b[from:r.start])
		out.WriteString(placeholder(s.in.names[r.name]))
		from = r.end
	}
	out.Write(b[from:])
	return out.Bytes()
}

// Find returns the name of a secret whose value is in b, in any encoding that Scrub knows.
func (s *Set) Find(b []byte) (name string, found bool) {
	if s.empty() {
		return "", false
	}
	a := s.in.find
	_, _, out := a.scan(0, b, 0)
	if out == 0 {
		return "", false
	}
	return s.in.names[a.name[out]], true
}

// Mask overwrites real values in b in place, with as many asterisks, and tells whether there were any.
func (s *Set) Mask(b []byte) bool {
	all := s.regions(b)
	for _, r := range all {
		for i := r.start; i < r.end; i++ {
			b[i] = '*'
		}
	}
	return len(all) > 0
}
