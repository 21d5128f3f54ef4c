package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mayfly-run/mayfly/engine"
)

// measureWaiting has many sessions wait for a tool at the same time. They should take as long as one, and hardly any CPU.
func (b *toolsRun) measureWaiting(ctx context.Context) error {
	n, wait := b.opts.Waiting, b.opts.Wait
	b.opts.Progress(fmt.Sprintf("%d sessions that each wait %v for a tool", n, wait))
	sessions := make([]*engine.Session, n)
	defer func() {
		for _, s := range sessions {
			if s != nil {
				s.Close()
			}
		}
	}()
	for i := range sessions {
		var err error
		if sessions[i], err = b.engine.NewSession(ctx, nil); err != nil {
			return err
		}
	}
	code := fmt.Sprintf("from tools.local import wait\nwait(seconds=%g)", wait.Seconds())
	before, known := readMemory()
	cpu, _ := cpuTime()
	start := time.Now()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i, s := range sessions {
		wg.Go(func() {
			r, err := s.Exec(ctx, engine.Request{Code: code})
			errs[i] = check(r, err, "True")
		})
	}
	// In the middle of it all of them wait.
	var during memoryUse
	select {
	case <-time.After(wait * 3 / 4):
		during, _ = readMemory()
	case <-ctx.Done():
	}
	wg.Wait()
	w := &WaitingCost{Sessions: n, WaitS: wait.Seconds(), WallS: round(time.Since(start).Seconds())}
	if after, ok := cpuTime(); ok {
		w.CPUS = new(round((after - cpu).Seconds()))
	}
	if known {
		w.KiBPerSession = new(round((during.private - before.private) / float64(n)))
	}
	b.report.Waiting = w
	return errors.Join(errs...)
}
