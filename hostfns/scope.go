package hostfns

import "sync"

// Scope is shared by an execution and all that it starts: what counts for the whole tree, as the budgets of ask_llm do, is
// kept here. It is safe for concurrent use.
type Scope struct {
	mu     sync.Mutex
	values map[any]any
	depth  int
	parent *Scope
}

// NewScope returns the scope of an execution that nobody else started.
func NewScope() *Scope { return &Scope{} }

// Child returns the scope of an execution that was started by one in s: values are those of s, and Depth is one more.
func (s *Scope) Child() *Scope { return &Scope{parent: s.root(), depth: s.depth + 1} }

// Depth is 0 for the execution at the top.
func (s *Scope) Depth() int { return s.depth }

// Value returns what the tree has under a key, whose type should be unexported; make makes it when there is nothing yet.
func (s *Scope) Value(key any, make func() any) any {
	s = s.root()
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.values[key]; ok {
		return v
	}
	if s.values == nil {
		s.values = map[any]any{}
	}
	v := make()
	s.values[key] = v
	return v
}

func (s *Scope) root() *Scope {
	if s.parent != nil {
		return s.parent
	}
	return s
}
