package store

import (
	"context"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// ahead stores the objects of a large batch, several transactions long, so that others get their turn in between. They
// are marked as garbage and pinned until forget is called.
func (s *Store) ahead(ctx context.Context, b *cas.Batch) (forget func(), err error) {
	hashes := childrenFirst(b)
	s.pins.hold(hashes)
	all := hashes
	forget = func() { s.unpin(all) }
	var before *op
	wait := func() error {
		if before == nil {
			return nil
		}
		o := before
		before = nil
		return <-o.done
	}
	for len(hashes) > 0 && err == nil {
		var part []entry
		var l load
		size := int64(0)
		for len(hashes) > 0 {
			o, _ := b.Get(hashes[0])
			if !l.add(s, o) && len(part) > 0 {
				break
			}
			part = append(part, entry{h: hashes[0], o: o})
			size += weight(o)
			hashes = hashes[1:]
		}
		// One part is written while the next one is compressed.
		if err = s.encode(part); err == nil {
			err = wait()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			before = &op{size: size, plan: func(t *tx) error {
				a := newAdder(t)
				for _, e := range part {
					if err := a.add(e); err != nil {
						return err
					}
				}
				return a.settle()
			}}
			s.w.submit(before)
		}
	}
	if werr := wait(); err == nil {
		err = werr
	}
	return forget, err
}

// childrenFirst returns the hashes of a batch so that each comes after those that it names.
func childrenFirst(b *cas.Batch) []cas.Hash {
	out := make([]cas.Hash, 0, b.Len())
	seen := make(map[cas.Hash]bool, b.Len())
	type frame struct {
		h    cas.Hash
		refs []cas.Hash
	}
	var stack []frame // not recursive: a chain of objects may be as long as the batch
	push := func(h cas.Hash) {
		if o, ok := b.Get(h); ok && !seen[h] {
			seen[h] = true
			stack = append(stack, frame{h, o.Refs})
		}
	}
	for h := range b.All {
		push(h)
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if len(f.refs) == 0 {
				out = append(out, f.h)
				stack = stack[:len(stack)-1]
				continue
			}
			r := f.refs[0]
			f.refs = f.refs[1:]
			push(r)
		}
	}
	return out
}
