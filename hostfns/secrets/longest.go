package secrets

// Longest returns the size in bytes of the longest text that Find, Scrub and Mask look for, 0 when there is none: who
// gives them a long text in pieces has them overlap by one byte less.
func (s *Set) Longest() int {
	if s.empty() {
		return 0
	}
	depth := s.in.find.depth
	return int(depth[len(depth)-1]) // states are numbered by breadth
}
