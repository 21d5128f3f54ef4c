package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

const (
	// reclaimBytes is how much must have been deleted before space is given back to the disk.
	reclaimBytes = 64 << 20
	// discardRatio is the part of a value log that is garbage when it is rewritten.
	discardRatio = 0.5
	// A store that is opened for each step gets a value log each time. When there are manySmall below smallLog bytes, they
	// are merged; and so are as many of Badger's youngest tables, before Badger waits for that.
	manySmall = 12
	smallLog  = 1 << 20
)

// reclaim lets Badger rewrite value logs of which half is not used any more. Flush makes sure that Badger knows what was
// deleted: it finds out when it compacts its tables.
func (s *Store) reclaim(ctx context.Context, flush bool) {
	s.collect.freed.Store(0)
	if s.dir == "" {
		return
	}
	err := error(nil)
	if flush {
		err = s.w.do(ctx, &op{alone: s.compact})
	}
	for err == nil && ctx.Err() == nil {
		if err = s.readyToRewrite(); err == nil {
			// Alone: Badger begins with reading without a lock what writers write.
			err = s.w.do(ctx, &op{alone: func() error { return s.db.RunValueLogGC(discardRatio) }})
		}
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, badger.ErrNoRewrite) && !errors.Is(err, badger.ErrRejected) {
		s.opt.Logger.Warn("giving space back to the disk failed", "error", err)
	}
}

// compact writes the memtable to a table and merges the youngest tables. Badger has no call for that but the one that
// deletes all keys with a prefix; it does nothing when there are none.
func (s *Store) compact() error {
	if err := s.w.space.check(0, true); err != nil {
		return err
	}
	key := []byte("mx")
	if err := s.db.Update(func(txn *badger.Txn) error { return txn.Set(key, nil) }); err != nil {
		return err
	}
	return s.db.DropPrefix(key)
}

// readyToRewrite returns badger.ErrNoRewrite when there is nothing to do, and an error when the value log that Badger
// would rewrite has a damaged entry, since Badger would stop there and delete the file with what follows, or when there
// is no space for what would be moved.
func (s *Store) readyToRewrite() error {
	dir := filepath.Join(s.dir, badgerDir)
	m, err := readDiscard(filepath.Join(dir, discardName))
	if err != nil {
		return err
	}
	f, err := listFiles(dir)
	if err != nil {
		return err
	}
	found := false
	for fid, n := range m {
		path := filepath.Join(dir, fmt.Sprintf("%06d.vlog", fid))
		fi, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) || fid >= f.latestValues() {
			continue // the latest one is being written
		}
		if err != nil {
			return err
		}
		if float64(n) < discardRatio*float64(fi.Size()) {
			continue
		}
		found = true
		if err := s.w.space.check(max(fi.Size()-n, 0), true); err != nil {
			return err
		}
		if s.collect.intact[fid] {
			continue
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
	if !found {
		return badger.ErrNoRewrite
	}
	return nil
}

// mergeSmall marks small value logs as garbage, so that Badger rewrites them. It does so only with what is used of them:
// the numbers are but hints. Badger must not be open.
func (f *files) mergeSmall() error {
	var small []uint64
	for _, name := range f.values {
		fi, err := os.Stat(filepath.Join(f.dir, name))
		if err != nil {
			return err
		}
		if n, _ := strconv.ParseUint(strings.TrimSuffix(name, ".vlog"), 10, 32); fi.Size() > logHeader && fi.Size() < smallLog {
			small = append(small, n)
		}
	}
	if len(small) < manySmall {
		return nil
	}
	path := filepath.Join(f.dir, discardName)
	m, err := readDiscard(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, fid := range small {
		m[fid] = smallLog
	}
	b := make([]byte, 1<<20)
	fids := slices.Sorted(maps.Keys(m))
	if len(fids) >= len(b)/16 {
		return nil
	}
	for i, fid := range fids {
		binary.BigEndian.PutUint64(b[16*i:], fid)
		binary.BigEndian.PutUint64(b[16*i+8:], uint64(m[fid]))
	}
	return replaceFile(path, b, false)
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

// mergeYoung merges Badger's youngest tables before there are so many that Badger makes writers, and Close, wait.
func (s *Store) mergeYoung() {
	if s.dir == "" || s.w.broken() != nil {
		return
	}
	err := guard(func() error {
		if levels := s.db.Levels(); len(levels) == 0 || levels[0].NumTables < manySmall {
			return nil
		}
		return s.compact()
	})
	if err != nil {
		s.opt.Logger.Warn("merging tables failed", "error", err)
	}
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
