package engine

import (
	"io"
	"sync"

	"github.com/mayfly-run/mayfly/hostfns/secrets"
)

// Output collects what a program writes, up to a limit for each stream, and passes it on as events.
type Output struct {
	mu      sync.Mutex
	limit   int
	onEvent func(Event)
	stdout  stream
	stderr  stream
	// panicked is what onEvent panicked with. It must not unwind the guest; Session.Exec passes it on.
	panicked any
}

type stream struct {
	kept    []byte
	dropped int64
	scrub   *secrets.Writer // in front of keep, nil without secrets
}

func newOutput(limit int, onEvent func(Event)) *Output {
	return &Output{limit: limit, onEvent: onEvent}
}

// Stdout and Stderr return the writers for the program's streams. They never fail: what is beyond the limit is counted
// and dropped, for a program should not die of talking too much.
func (o *Output) Stdout() io.Writer { return writer{o, &o.stdout, EventStdout} }

// Stderr is like Stdout.
func (o *Output) Stderr() io.Writer { return writer{o, &o.stderr, EventStderr} }

type writer struct {
	o    *Output
	s    *stream
	kind EventKind
}

func (w writer) Write(p []byte) (int, error) {
	w.o.mu.Lock()
	defer w.o.mu.Unlock()
	if w.s.scrub != nil {
		return w.s.scrub.Write(p)
	}
	return keeping(w).Write(p)
}

// scrub has the values of secrets removed from what is written from now on.
func (o *Output) scrub(set *secrets.Set) {
	o.stdout.scrub = set.Writer(keeping{o, &o.stdout, EventStdout})
	o.stderr.scrub = set.Writer(keeping{o, &o.stderr, EventStderr})
}

// flush writes what was held back, as it might have been the beginning of a secret.
func (o *Output) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range []*stream{&o.stdout, &o.stderr} {
		if s.scrub != nil {
			_ = s.scrub.Flush() // keeping never fails
		}
	}
}

// keeping is what a writer does, under the lock.
type keeping writer

func (w keeping) Write(p []byte) (int, error) {
	keep := p[:min(len(p), w.o.limit-len(w.s.kept))]
	w.s.kept = append(w.s.kept, keep...)
	w.s.dropped += int64(len(p) - len(keep))
	if len(keep) > 0 && w.o.onEvent != nil && w.o.panicked == nil {
		w.o.tell(Event{Kind: w.kind, Data: keep})
	}
	return len(p), nil
}

// event tells of something besides output.
func (o *Output) event(e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.onEvent != nil && o.panicked == nil {
		o.tell(e)
	}
}

func (o *Output) tell(e Event) {
	defer func() { o.panicked = recover() }()
	o.onEvent(e)
}

// into copies what was collected into the result.
func (o *Output) into(r *Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Stdout, r.Truncated.Stdout = string(o.stdout.kept), o.stdout.dropped
	r.Stderr, r.Truncated.Stderr = string(o.stderr.kept), o.stderr.dropped
}
