package store

import (
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// entry is an object to store. Its row is made when it turns out to be needed, unless there is one.
type entry struct {
	h   cas.Hash
	o   cas.Object
	row []byte
}

// adder stages objects with what follows from them.
type adder struct {
	t *tx
	c *changes
}

func newAdder(t *tx) *adder { return &adder{t: t, c: newChanges()} }

// add stages an object unless the store has it.
func (a *adder) add(e entry) error {
	if a.c.fresh[e.h] {
		return nil
	}
	if ok, err := a.t.has(hashKey(keyObject, e.h)); ok || err != nil {
		return err
	}
	if e.row == nil {
		e.row = encodeObject(e.h, e.o)
	}
	a.t.addObject(a.c, e.h, e.o, e.row)
	return nil
}

// settle makes sure that all that is named is there, and stages counts and marks. What was put and could not be written
// yet is added.
func (a *adder) settle() error {
	seen := map[cas.Hash]bool{}
	var work []cas.Hash
	for h := range a.c.delta {
		work = append(work, h)
	}
	for len(work) > 0 {
		h := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[h] || a.c.fresh[h] {
			continue
		}
		seen[h] = true
		if ok, err := a.t.has(hashKey(keyObject, h)); err != nil {
			return err
		} else if ok {
			continue
		}
		o, ok := a.t.s.pins.unwritten(h)
		if !ok {
			return fmt.Errorf("%w: %v", cas.ErrMissing, h)
		}
		if err := a.add(entry{h: h, o: o}); err != nil {
			return err
		}
		work = append(work, o.Refs...)
	}
	return a.t.settle(a.c)
}
