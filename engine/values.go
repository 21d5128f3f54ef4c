package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// keep stores a large value and returns its reference.
func (s *Session) keep(id string, value []byte) string {
	s.state.Lock()
	defer s.state.Unlock()
	if s.values == nil {
		s.values = map[string][]byte{}
	}
	for len(s.valueIDs) > 0 && s.stored+len(value) > maxValues {
		s.stored -= len(s.values[s.valueIDs[0]])
		delete(s.values, s.valueIDs[0])
		s.valueIDs = s.valueIDs[1:]
	}
	s.values[id] = value
	s.valueIDs = append(s.valueIDs, id)
	s.stored += len(value)
	return "value:" + id
}

// forgetValue drops a value that can be had from elsewhere.
func (s *Session) forgetValue(id string) {
	s.state.Lock()
	defer s.state.Unlock()
	s.stored -= len(s.values[id])
	delete(s.values, id)
	s.valueIDs = slices.DeleteFunc(s.valueIDs, func(have string) bool { return have == id })
	s.value = nil
}

// Value returns a result that was too large to be told: JSON where it could be, else its repr. The reference is
// Result.ResultRef. A durable session has all of them, others the latest 64 MiB.
func (s *Session) Value(ref string) ([]byte, error) {
	id := strings.TrimPrefix(ref, "value:")
	if step, err := strconv.Atoi(id); err == nil && s.kept != nil {
		return s.storedValue(step)
	}
	s.state.Lock()
	defer s.state.Unlock()
	v, ok := s.values[id]
	if !ok {
		return nil, requestError("only the latest 64 MiB of large results are kept", "no value %q", ref)
	}
	return v, nil
}

// storedValue reads a large result of a durable session.
func (s *Session) storedValue(step int) ([]byte, error) {
	ctx := context.Background()
	s.state.Lock()
	j := s.journal()
	s.state.Unlock()
	r, err := j.record(ctx, step)
	if err != nil {
		return nil, err
	}
	if r.Value == nil {
		return nil, requestError("", "step %d has no value that was too large to be told", step)
	}
	v, err := r.Value.read(s.kept.store)
	return v, storeError(err)
}

// preview cuts a text in the middle.
func preview(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := text[:n*3/4], text[len(text)-n/4:]
	return fmt.Sprintf("%s ... %d bytes ... %s", strings.ToValidUTF8(head, ""), len(text)-n, strings.ToValidUTF8(tail, ""))
}
