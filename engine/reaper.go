package engine

import (
	"context"
	"errors"
	"time"
)

// reapEvery is the time between two looks for expired sessions.
const reapEvery = time.Minute

// reaper removes expired sessions in the background, while the engine has a store.
type reaper struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *reaper) start(e *Engine) {
	if e.opts.Store == nil {
		return
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.done = make(chan struct{})
	go func() {
		defer close(r.done)
		if err := e.dropImports(ctx); err != nil && ctx.Err() == nil {
			e.opts.Logger.Warn("remove sessions that were not imported to the end", "error", err)
		}
		t := time.NewTicker(reapEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-ctx.Done():
				return
			}
			if _, err := e.Reap(ctx); err != nil && ctx.Err() == nil {
				e.opts.Logger.Warn("remove expired sessions", "error", err)
			}
		}
	}()
}

func (r *reaper) stop() {
	if r.cancel != nil {
		r.cancel()
		<-r.done
	}
}

// Reap removes the durable sessions whose idle time or age is over, and returns their names. One in which code runs is
// left alone. The engine does this once a minute by itself.
func (e *Engine) Reap(ctx context.Context) ([]string, error) {
	infos, err := e.Sessions(ctx, nil)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var removed []string
	var errs []error
	for _, i := range infos {
		if !i.expired(now) {
			continue
		}
		done, err := e.reap(ctx, i.ID)
		if done {
			removed = append(removed, i.ID)
		}
		if err != nil && !errors.Is(err, ErrNoSession) {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return removed, errors.Join(errs...)
}

func (i *SessionInfo) expired(now time.Time) bool {
	return !i.Expires.IsZero() && !now.Before(i.Expires) && !i.Running
}

// reap removes a session if it is expired still: it may have been used since, or be another one.
func (e *Engine) reap(ctx context.Context, session string) (bool, error) {
	e.opening.Lock()
	defer e.opening.Unlock()
	info, err := e.Lookup(ctx, session)
	if err != nil || !info.expired(time.Now()) {
		return false, err
	}
	err = e.remove(ctx, session)
	return err == nil, err
}
