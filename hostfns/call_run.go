package hostfns

import (
	"slices"
	"time"
)

// launch runs a call in a goroutine other than the caller's: even a function that never returns must not keep its caller for
// ever. The lock is held.
func (c *Calls) launch(k *call) {
	c.ready(k)
	if w := c.spare; w != nil {
		c.spare = nil
		w <- k
		return
	}
	go c.work(k)
}

// ready makes a call run. The lock is held.
func (c *Calls) ready(k *call) {
	k.launched = true
	k.began = time.Now()
	if k.kind != kindCatalogue {
		c.running++
	}
	k.left = c.rules.timeout
	k.until = k.began.Add(k.left)
	if k.kind != kindFunction || !slices.Contains(c.h.o.OwnTime, k.fn) {
		k.timer = time.AfterFunc(k.left, func() { c.timeOut(k) })
	}
}

// work serves a call, and then others that wait for their turn. A goroutine costs little, but growing its stack for each
// call was a quarter of the time of all; so one that is spare waits for the next call.
func (c *Calls) work(k *call) {
	for {
		c.serve(k)
		c.mu.Lock()
		if k = c.takeTurn(); k != nil {
			c.ready(k)
			c.mu.Unlock()
			continue
		}
		if c.spare != nil || c.ended {
			c.mu.Unlock()
			return
		}
		w := make(chan *call, 1)
		c.spare = w
		c.mu.Unlock()
		if k = <-w; k == nil {
			return
		}
	}
}

func (c *Calls) serve(k *call) {
	returned := false
	defer func() {
		if r := recover(); r != nil {
			c.fail(k, c.h.panicked(k.fn, r))
		} else if !returned { // runtime.Goexit: this goroutine ends here
			c.fail(k, c.h.panicked(k.fn, "it ended its goroutine"))
			c.mu.Lock()
			c.launchTurn()
			c.mu.Unlock()
		}
	}()
	v, err := k.perform()
	var answer []byte
	if err == nil {
		answer, err = c.answer(k, v)
	}
	returned = true
	if err != nil {
		c.fail(k, err)
	} else {
		c.finish(k, answer, nil)
	}
}

// fail ends a call with an error.
func (c *Calls) fail(k *call, err error) {
	c.finish(k, nil, c.scrubError(k.name(k.toError(err))))
}

// takeTurn returns the call that has waited longest, if it may run now. The lock is held.
func (c *Calls) takeTurn() *call {
	for len(c.turns) > 0 && c.running < c.rules.maxParallel {
		k := c.turns[0]
		c.turns[0] = nil
		c.turns = c.turns[1:]
		if !k.finished {
			return k
		}
	}
	return nil
}

func (c *Calls) launchTurn() {
	if k := c.takeTurn(); k != nil {
		c.launch(k)
	}
}
