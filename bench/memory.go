package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/wasm"
)

// memoryUse is what a process takes, in KiB: pages that nothing else maps; its share of all pages; and all pages that it
// has mapped, a page counting once per mapping.
type memoryUse struct{ private, pss, rss float64 }

// measureMemory holds many sessions open at once and looks at this process from the outside. It comes first, so that
// what other measurements leave behind is not counted.
func (b *run) measureMemory(ctx context.Context, e *engine.Engine) error {
	if _, ok := readMemory(); !ok {
		b.note("memory was not measured: it needs /proc/self/smaps_rollup of Linux")
		return nil
	}
	// The first executions make what all sessions share: workers, and the pages of the compiled code.
	for range 3 {
		if _, err := e.Run(ctx, onePlusOne); err != nil {
			return err
		}
	}
	n := b.opts.Sessions
	b.progress("memory: %d used sessions", n)
	sessions := make([]*engine.Session, n)
	defer func() {
		for _, s := range sessions {
			if s != nil {
				s.Close()
			}
		}
	}()
	start, _ := readMemory()
	for i := range sessions {
		var err error
		if sessions[i], err = e.NewSession(ctx, nil); err != nil {
			return err
		}
	}
	unopened, _ := readMemory()
	var used [2]memoryUse
	for round := range used {
		for i, s := range sessions {
			r, err := s.Exec(ctx, engine.Request{Code: "x = 1 + 1"})
			if err := check(r, err, "2"); err != nil {
				return fmt.Errorf("session %d: %w", i+1, err)
			}
		}
		if err := settle(ctx, engine.TrimAfter+time.Second); err != nil {
			return err
		}
		used[round], _ = readMemory()
	}
	per := func(m memoryUse) float64 { return (m.private - start.private) / float64(n) }
	b.report.PrivateKiBPerUsedSession = new(round(per(used[0])))
	b.report.RSSMiB1000Sessions = new(round(b.thousand(used[0].rss)))
	b.report.PSSMiB1000Sessions = new(round(b.thousand(used[0].pss)))
	b.note("a session that was opened and never used takes %.1f KiB: it is forked by its first execution", per(unopened))
	b.note("memory is read when the sessions have been idle for %v", engine.TrimAfter+time.Second)
	b.note("after a second execution a used session takes %.0f KiB", per(used[1]))
	return nil
}

// settle waits until idle sessions have been trimmed.
func settle(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// thousand turns KiB with as many sessions as there are into MiB with a thousand.
func (b *run) thousand(kib float64) float64 { return kib / 1024 * 1000 / float64(b.opts.Sessions) }

// measureIdleForks holds forks in which nothing ran. The engine makes none of these, since it forks for the first
// execution; so they are made here, without the pages that ready sandboxes have prepared ahead.
func (b *run) measureIdleForks(ctx context.Context) error {
	if _, ok := readMemory(); !ok {
		return nil
	}
	b.progress("memory: %d idle forks", b.opts.Sessions)
	rt, err := wasm.NewRuntime(ctx, &wasm.RuntimeOptions{CacheDir: b.opts.CacheDir, ReadyMemories: -1})
	if err != nil {
		return err
	}
	defer rt.Close(ctx)
	if dir, _ := rt.Cache(); dir == "" {
		b.note("private_kib_per_idle_session was not measured: it needs the cache of compiled guests")
		return nil
	}
	g := b.guest
	// The engine has left the image in the cache.
	im, err := rt.Image(ctx, &wasm.Guest{Name: g.Language(), ID: g.ID(), Module: g.Module, Boot: wasm.BootFrame(g.Boot())})
	if err != nil {
		return err
	}
	start, _ := readMemory()
	forks := make([]*wasm.Memory, 0, b.opts.Sessions)
	defer func() {
		for _, m := range forks {
			m.Close()
		}
	}()
	for range b.opts.Sessions {
		m, err := im.NewMemory(nil)
		if err != nil {
			return err
		}
		forks = append(forks, m)
	}
	idle, _ := readMemory()
	b.report.PrivateKiBPerIdleSession = new(round(max(0, (idle.private-start.private)/float64(len(forks)))))
	return nil
}
