package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// maxUnwritten bounds the bytes of objects that were put and are not written yet.
const maxUnwritten = 16 << 20

// pins are the objects that are kept for callers of Put, and for what is on its way.
type pins struct {
	mu   sync.Mutex
	cond sync.Cond // of bytes and deleting
	m    map[cas.Hash]*pin
	// bytes are those of the unwritten objects.
	bytes int64
	// deleting are objects that the collector is about to delete: who pins one of them waits until it is gone.
	deleting map[cas.Hash]bool
}

type pin struct {
	n int
	// o is the object until it is written. It pins what it names.
	o *cas.Object
	// failed tells that writing it failed: it waits for a commit that names it, and counts no longer for the bytes.
	failed bool
}

func (p *pins) init() {
	p.cond.L = &p.mu
	p.m, p.deleting = map[cas.Hash]*pin{}, map[cas.Hash]bool{}
}

func (p *pins) addLocked(h cas.Hash) *pin {
	e := p.m[h]
	if e == nil {
		e = &pin{}
		p.m[h] = e
	}
	e.n++
	return e
}

// hold pins objects that are, or are going to be, in the database.
func (p *pins) hold(hashes []cas.Hash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range hashes {
		p.addLocked(h)
	}
	for slices.ContainsFunc(hashes, func(h cas.Hash) bool { return p.deleting[h] }) {
		p.cond.Wait()
	}
}

// drop gives pins back and reports whether an object has none any more.
func (p *pins) drop(hashes []cas.Hash) (last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range hashes {
		last = p.dropLocked(h) || last
	}
	return last
}

func (p *pins) dropLocked(h cas.Hash) bool {
	e := p.m[h]
	if e == nil {
		return false
	}
	if e.n--; e.n > 0 {
		return false
	}
	delete(p.m, h)
	p.writtenLocked(e)
	return true
}

// writtenLocked forgets the object of a pin.
func (p *pins) writtenLocked(e *pin) {
	if e.o == nil {
		return
	}
	o := e.o
	e.o = nil
	if !e.failed {
		p.bytes -= weight(*o)
		p.cond.Broadcast()
	}
	for _, r := range o.Refs {
		p.dropLocked(r)
	}
}

func weight(o cas.Object) int64 { return int64(len(o.Data) + len(o.Refs)*len(cas.Hash{}) + 256) }

// unwritten returns an object that was put and is not in the database yet.
func (p *pins) unwritten(h cas.Hash) (cas.Object, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.m[h]; e != nil && e.o != nil {
		return *e.o, true
	}
	return cas.Object{}, false
}

// claim returns those of the hashes that nobody pins; who pins one of them from now on waits for release.
func (p *pins) claim(hashes []cas.Hash) []cas.Hash {
	p.mu.Lock()
	defer p.mu.Unlock()
	var free []cas.Hash
	for _, h := range hashes {
		if p.m[h] == nil {
			p.deleting[h] = true
			free = append(free, h)
		}
	}
	return free
}

func (p *pins) release(hashes []cas.Hash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range hashes {
		delete(p.deleting, h)
	}
	p.cond.Broadcast()
}

func (p *pins) pinned(h cas.Hash) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.m[h] != nil
}

// Put implements cas.Writer. What the object names must be in the store. The object is written in the background: an
// error of that is the error of the commit that names it. Put waits while too much is still to be written.
func (s *Store) Put(o cas.Object) (cas.Hash, error) {
	if err := o.Check(); err != nil {
		return cas.Hash{}, err
	}
	if err := s.enter(context.Background()); err != nil {
		return cas.Hash{}, err
	}
	defer s.leave()
	if err := s.w.broken(); err != nil {
		return cas.Hash{}, err
	}
	if err := s.w.space.check(weight(o), false); err != nil {
		return cas.Hash{}, err
	}
	h := o.Sum()
	// The pins of the references go to the object when it is waiting to be written.
	s.pins.hold(o.Refs)
	if err := s.haveAll(h, o.Refs); err != nil {
		s.unpin(o.Refs)
		return cas.Hash{}, err
	}
	p := &s.pins
	p.mu.Lock()
	for p.bytes > 0 && p.bytes+weight(o) > maxUnwritten {
		p.cond.Wait()
	}
	e := p.addLocked(h)
	known := e.o != nil || e.n > 1 // it is in the database, or on its way there
	if !known {
		e.o = &o
		p.bytes += weight(o)
	}
	p.mu.Unlock()
	if known {
		s.unpin(o.Refs)
		return h, nil
	}
	s.w.submit(s.putOp([]cas.Hash{h}, weight(o), func(cas.Hash) (entry, bool) {
		o, ok := p.unwritten(h)
		return entry{h: h, o: o}, ok
	}))
	return h, nil
}

// haveAll returns an error that wraps cas.ErrMissing unless the store has all of the objects, which are pinned.
func (s *Store) haveAll(of cas.Hash, hashes []cas.Hash) error {
	var rest []cas.Hash
	for _, h := range hashes {
		if _, ok := s.pins.unwritten(h); !ok {
			rest = append(rest, h)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	return guard(func() error {
		txn := s.db.NewTransaction(false) // only now: what was unwritten before is in it
		defer txn.Discard()
		for _, h := range rest {
			if ok, err := has(txn, hashKey(keyObject, h)); err != nil {
				return err
			} else if !ok {
				return fmt.Errorf("%w: %v, which %v names", cas.ErrMissing, h, of)
			}
		}
		return nil
	})
}

// putOp stores objects that are pinned.
func (s *Store) putOp(hashes []cas.Hash, size int64, get func(cas.Hash) (entry, bool)) *op {
	o := &op{size: size}
	o.plan = func(t *tx) error {
		a := newAdder(t)
		for _, h := range hashes {
			if e, ok := get(h); ok {
				if err := a.add(e); err != nil {
					return err
				}
			}
		}
		return a.settle()
	}
	o.after = func(err error) {
		if err == nil {
			s.written(hashes)
			return
		}
		s.pins.fail(hashes)
		s.opt.Logger.Warn("objects could not be written ahead", "error", err)
	}
	return o
}

// fail remembers that objects could not be written.
func (p *pins) fail(hashes []cas.Hash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range hashes {
		if e := p.m[h]; e != nil && e.o != nil && !e.failed {
			e.failed = true
			p.bytes -= weight(*e.o)
		}
	}
	p.cond.Broadcast()
}

// written forgets the objects that are in the database now.
func (s *Store) written(hashes []cas.Hash) {
	p := &s.pins
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range hashes {
		if e := p.m[h]; e != nil {
			p.writtenLocked(e)
		}
	}
}

// Forget implements cas.Writer.
func (s *Store) Forget(hashes ...cas.Hash) {
	if s.enter(context.Background()) != nil {
		return
	}
	defer s.leave()
	s.unpin(hashes)
}

func (s *Store) unpin(hashes []cas.Hash) {
	if s.pins.drop(hashes) {
		s.collect.kick()
	}
}
