package llm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/hostfns"
)

// tree is what an execution and all that it starts have used. It is in their scope, whatever host serves them; the limits
// are those of the Functions that are asked.
type tree struct {
	slots chan struct{} // as many as requests may be under way

	mu       sync.Mutex
	calls    int
	used     int64 // tokens
	reserved int64 // tokens of what is under way
	running  int
	since    time.Time     // when running became more than 0
	busy     time.Duration // before that
	requests int
	released chan struct{} // closed when reserved becomes less; nil: nobody waits
}

type treeKey struct{}

func treeOf(s *hostfns.Scope, parallel int) *tree {
	return s.Value(treeKey{}, func() any { return &tree{slots: make(chan struct{}, parallel)} }).(*tree)
}

// raise is the hint of errors about budgets.
func raise(key, field string) string {
	return fmt.Sprintf("ask less, or have whoever runs this raise %s of llm in the configuration (llm.Options.%s)", key, field)
}

// takeCalls counts n calls, or none when they are too many.
func (t *tree) takeCalls(n, limit int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if limit >= 0 && n > limit-t.calls {
		return &hostfns.Error{
			Code: hostfns.CodeBudget,
			Message: fmt.Sprintf("model calls are used up: %d of %d by this program and what it started, %d more asked for",
				t.calls, limit, n),
			Hint: raise("maxCalls", "MaxCalls"),
		}
	}
	t.calls += n
	return nil
}

// giveCalls takes back calls that were not made.
func (t *tree) giveCalls(n int) {
	t.mu.Lock()
	t.calls -= n
	t.mu.Unlock()
}

// reserve sets want tokens aside, at least least of them if there are no more, and waits for requests that are under way
// when these may leave enough.
func (t *tree) reserve(ctx context.Context, least, want, limit int64) (int64, error) {
	for {
		t.mu.Lock()
		left := limit - t.used - t.reserved
		switch {
		case limit < 0 || want <= left:
			t.reserved += want
			t.mu.Unlock()
			return want, nil
		case least > limit-t.used:
			err := tokenError(t.used, limit, least)
			t.mu.Unlock()
			return 0, err
		case t.reserved == 0: // least <= left < want
			t.reserved += left
			t.mu.Unlock()
			return left, nil
		}
		if t.released == nil {
			t.released = make(chan struct{})
		}
		released := t.released
		t.mu.Unlock()
		select {
		case <-released:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// extend sets n more tokens aside if there are as many.
func (t *tree) extend(n, limit int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if limit >= 0 && n > limit-t.used-t.reserved {
		return false
	}
	t.reserved += n
	return true
}

// settle replaces what was reserved by what was used.
func (t *tree) settle(reserved, used int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserved -= reserved
	t.used += used
	if t.released != nil {
		close(t.released)
		t.released = nil
	}
}

func tokenError(used, limit, need int64) *hostfns.Error {
	return &hostfns.Error{
		Code: hostfns.CodeBudget,
		Message: fmt.Sprintf("tokens of models are used up: %d of %d by this program and what it started, about %d more needed",
			used, limit, need),
		Hint: raise("maxTokens", "MaxTokens"),
	}
}

// begin tells that a request is under way until end is called, and bounds it by the rest of the tree's time.
func (t *tree) begin(ctx context.Context, limit time.Duration) (_ context.Context, end func(), _ error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	busy := t.busy
	if t.running > 0 {
		busy += now.Sub(t.since)
	}
	stop := context.CancelFunc(func() {})
	if limit > 0 {
		spent := &hostfns.Error{
			Code:    hostfns.CodeBudget,
			Message: fmt.Sprintf("the time for model calls is used up: %s by this program and what it started", limit),
			Hint:    raise("maxTime", "MaxWall"),
		}
		if busy >= limit {
			return nil, nil, spent
		}
		ctx, stop = context.WithTimeoutCause(ctx, limit-busy, spent)
	}
	if t.running++; t.running == 1 {
		t.since = now
	}
	return ctx, func() {
		stop()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.running--; t.running == 0 {
			t.busy += time.Since(t.since)
		}
	}, nil
}

// number numbers a request, from 1.
func (t *tree) number() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests++
	return t.requests
}
