package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// reclaimBytes is how much must have been deleted before the value logs are looked at.
const reclaimBytes = 32 << 20

// reclaim lets Badger rewrite value logs of which half is not used any more.
func (s *Store) reclaim(ctx context.Context) {
	s.collect.freed.Store(0)
	if s.dir == "" {
		return
	}
	for ctx.Err() == nil {
		err := s.intactValues(filepath.Join(s.dir, badgerDir))
		if err == nil {
			err = guard(func() error { return s.db.RunValueLogGC(discardRatio) })
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, badger.ErrNoRewrite) && !errors.Is(err, badger.ErrRejected) {
			s.opt.Logger.Warn("rewriting a value log failed", "error", err)
		}
		return
	}
}

const discardRatio = 0.5

// intactValues returns an error when a value log that Badger may rewrite has a damaged entry: Badger would stop there and
// delete the file with what follows.
func (s *Store) intactValues(dir string) error {
	b, err := os.ReadFile(filepath.Join(dir, "DISCARD"))
	if err != nil {
		return err
	}
	m, ok := parseDiscard(b)
	if !ok {
		return damaged("the file %s makes no sense", filepath.Join(badgerDir, "DISCARD"))
	}
	f, err := listFiles(dir)
	if err != nil {
		return err
	}
	for fid, n := range m {
		// The latest one is being written, and not rewritten.
		if n == 0 || s.collect.intact[fid] || fid >= f.latestValues() {
			continue
		}
		path := filepath.Join(dir, fmt.Sprintf("%06d.vlog", fid))
		fi, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) || err == nil && float64(n) < discardRatio*float64(fi.Size())/2 {
			continue // far from being rewritten
		}
		if err != nil {
			return err
		}
		b, err := readSparse(path)
		if err != nil {
			return err
		}
		if st := scanLog(b, false, false, nil); st.badHeader || st.tail > 0 {
			return damaged("the file %s has a damaged entry at byte %d; it is not rewritten", inBadger(path), st.end)
		}
		s.collect.intact[fid] = true
	}
	return nil
}

// flusher syncs what was written, about once a second, when commits do not wait for that.
type flusher struct {
	dirty atomic.Bool
	quit  chan struct{}
	wg    sync.WaitGroup
}

const flushEvery = 700 * time.Millisecond

func (f *flusher) start(s *Store) {
	f.quit = make(chan struct{})
	if s.dir == "" || s.opt.Durability != Async {
		return
	}
	f.wg.Go(func() {
		tick := time.NewTicker(flushEvery)
		defer tick.Stop()
		for {
			select {
			case <-f.quit:
				return
			case <-tick.C:
			}
			if f.dirty.Swap(false) {
				if err := syncLogs(filepath.Join(s.dir, badgerDir)); err != nil {
					f.dirty.Store(true)
					s.opt.Logger.Warn("syncing the store failed", "error", err)
				}
			}
		}
	})
}

func (f *flusher) stop() {
	close(f.quit)
	f.wg.Wait()
}

// syncLogs syncs the logs of Badger. Badger's own Sync leaves out those that it has just finished.
func syncLogs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".vlog") && !strings.HasSuffix(e.Name(), ".mem") {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR, 0)
		if errors.Is(err, os.ErrNotExist) {
			continue // a table has it
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return syncDir(dir)
}

// closeBadger closes the database.
func (s *Store) closeBadger() error { return guard(s.db.Close) }

// tidy leaves the files as the next Open wants them: it would read the latest value log as a whole, so it gets an empty one.
func tidy(dir string) error {
	f, err := listFiles(dir)
	if err != nil {
		return err
	}
	if len(f.values) > 0 {
		fi, err := os.Stat(filepath.Join(dir, f.values[len(f.values)-1]))
		if err != nil {
			return err
		}
		if fi.Size() > logHeader {
			if err := f.addEmptyValueLog(); err != nil {
				return err
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		_ = os.Chmod(filepath.Join(dir, e.Name()), 0o600) // the directory is closed to others anyway
	}
	return nil
}
