package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
)

const (
	// groupOps is how many operations are looked at for one transaction.
	groupOps = 256
	// groupBytes bounds the values of one transaction, which are in memory until it is written.
	groupBytes = 8 << 20
	queueLen   = 64
)

// op is something that is to be written. Its plan runs in the writer's goroutine, reads from the transaction and stages
// what is to be written; when it fails nothing of it is. Plans may run again.
type op struct {
	plan func(t *tx) error
	// alone, instead of a plan, runs outside of any transaction, while nothing is written.
	alone func() error
	// size is about what it writes, in bytes.
	size int64
	// frees tells that it gives space back in the end, so that it may use a part of the reserve.
	frees bool
	state atomic.Int32 // opWaiting, opTaken or opWithdrawn
	done  chan error   // gets one value, has room for it
	// after is called in the writer's goroutine when the outcome is known, before done.
	after func(error)
}

const (
	opWaiting = iota
	opTaken
	opWithdrawn
)

func (o *op) finish(err error) {
	if o.after != nil {
		o.after(err)
	}
	o.done <- err
}

// writer is the goroutine that writes.
type writer struct {
	s     *Store
	ops   chan *op
	ended chan struct{}
	space space
	// failed is set when a transaction failed in a way that leaves the database in memory behind, or ahead of, the disk.
	failed atomic.Pointer[error]
}

func (w *writer) start(s *Store) {
	w.s, w.ops, w.ended = s, make(chan *op, queueLen), make(chan struct{})
	w.space = space{s.dir, s.opt.MinFree, s.opt.free}
	go w.run()
}

// stop ends the writer after the operations that wait. No operation may be submitted afterwards.
func (w *writer) stop() {
	close(w.ops)
	<-w.ended
}

func (w *writer) broken() error {
	if p := w.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// submit hands an operation over without waiting for it.
func (w *writer) submit(o *op) {
	if o.done == nil {
		o.done = make(chan error, 1)
	}
	w.ops <- o
}

// do hands an operation over and waits for it. When the context ends first and the operation was not begun, nothing of it
// is done; otherwise do waits, since nobody could tell what happened.
func (w *writer) do(ctx context.Context, o *op) error {
	o.done = make(chan error, 1)
	select {
	case w.ops <- o:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
		if o.state.CompareAndSwap(opWaiting, opWithdrawn) {
			return ctx.Err()
		}
		return <-o.done
	}
}

func (w *writer) run() {
	defer close(w.ended)
	for o := range w.ops {
		group := []*op{o}
	more:
		for len(group) < groupOps {
			select {
			case o, ok := <-w.ops:
				if !ok {
					break more
				}
				group = append(group, o)
			default:
				break more
			}
		}
		for len(group) > 0 {
			group = w.write(group)
		}
	}
}

// write does as many of the operations as one transaction has room for, and returns the rest.
func (w *writer) write(group []*op) (rest []*op) {
	if err := w.broken(); err != nil {
		for _, o := range group {
			o.finish(err)
		}
		return nil
	}
	if first := group[0]; first.alone != nil {
		if first.state.CompareAndSwap(opWaiting, opTaken) {
			first.finish(guard(first.alone))
		}
		return group[1:]
	}
	t := newTx(w.s)
	defer t.txn.Discard()
	var in []*op
	var size int64
	for i, o := range group {
		if o.alone != nil {
			rest = group[i:]
			break
		}
		if o.state.Load() != opTaken && !o.state.CompareAndSwap(opWaiting, opTaken) {
			o.finish(context.Canceled) // nobody listens
			continue
		}
		err := w.space.check(size+o.size, o.frees)
		if err == nil {
			err = guard(func() error { return o.plan(t) })
		}
		if err == nil {
			err = t.apply()
		}
		t.reset()
		if errors.Is(err, badger.ErrTxnTooBig) && len(in) > 0 {
			rest = group[i:] // has room in a transaction of its own
			break
		}
		if err != nil {
			o.finish(err)
			continue
		}
		in = append(in, o)
		size += o.size
	}
	err := w.commit(t)
	if err == nil {
		t.kick()
	}
	for _, o := range in {
		o.finish(err)
	}
	return rest
}

func (w *writer) commit(t *tx) error {
	if t.entries == 0 {
		return nil
	}
	err := guard(t.txn.Commit)
	if err == nil {
		if msg := w.s.blog.syncFailed.Load(); msg != nil {
			err = errors.New(*msg)
		}
	}
	w.s.syncing.dirty.Store(true)
	if err == nil {
		return nil
	}
	// Badger may have a part of it in memory now, and all or nothing on the disk: only a new start can tell.
	err = fmt.Errorf("write to the store %s: %w; it cannot be written until it is opened again", w.s.Dir(), err)
	w.failed.Store(&err)
	w.s.opt.Logger.Error("the store is read-only from now on", "error", err)
	return err
}
