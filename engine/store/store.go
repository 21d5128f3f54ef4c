package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/dgraph-io/badger/v4"

	"github.com/mayfly-run/mayfly/engine"
)

// Memory is the directory name that stands for a store in memory.
const Memory = ":memory:"

// Store is an engine.Store on Badger. All methods are safe for concurrent use.
type Store struct {
	dir  string // empty in memory
	db   *badger.DB
	opt  Options
	blog *badgerLog
	lock *dirLock

	// open is held for reading by each call, for writing by Close.
	open   sync.RWMutex
	closed bool

	w       writer
	pins    pins
	cache   cache
	collect collector
	syncing flusher
}

var _ engine.Store = (*Store)(nil)

// Open opens the store in a directory, which is made when it does not exist. Memory as the directory gives a store in
// memory that ends with Close.
//
// Errors that callers branch on: ErrLocked (a *LockedError that says who has it), ErrNewer, ErrNotStore,
// engine.ErrStoreDamaged, engine.ErrStoreFull, fs.ErrPermission.
func Open(dir string, o *Options) (*Store, error) {
	if dir == Memory {
		return OpenMemory(o)
	}
	if dir == "" {
		return nil, errors.New("open store: no directory is named")
	}
	s := &Store{dir: filepath.Clean(dir), opt: o.withDefaults()}
	if err := s.openDir(); err != nil {
		return nil, fmt.Errorf("open store: %w", explain(s.dir, err))
	}
	s.start()
	return s, nil
}

// OpenMemory returns a store that is kept in memory and ends with Close.
func OpenMemory(o *Options) (*Store, error) {
	s := &Store{opt: o.withDefaults()}
	s.opt.free = nil
	s.blog = &badgerLog{log: s.opt.Logger}
	db, err := openBadger(badgerOptions("", None, s.blog))
	if err != nil {
		return nil, fmt.Errorf("open store in memory: %w", err)
	}
	s.db = db
	s.start()
	return s, nil
}

// openDir takes the lock and opens the database. What it took is given back when it fails.
func (s *Store) openDir() (err error) {
	lock, fresh, err := claim(s.dir, &s.opt)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = lock.release(lock.left == nil)
		}
	}()
	sp := space{s.dir, s.opt.MinFree, s.opt.free}
	if err := sp.check(0, !fresh); err != nil {
		return err
	}
	if fresh {
		if err := writeFormat(s.dir); err != nil {
			return err
		}
	}
	if err := s.openData(lock); err != nil {
		return err
	}
	s.lock = lock
	return nil
}

// openData opens the database under the lock.
func (s *Store) openData(lock *dirLock) (err error) {
	data := filepath.Join(s.dir, badgerDir)
	if err := inspect(data, lock.left, s.opt.Logger); err != nil {
		return err
	}
	if err := lock.announce(); err != nil {
		return err
	}
	if err := os.Mkdir(data, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	s.blog = &badgerLog{log: s.opt.Logger}
	if s.db, err = openBadger(badgerOptions(data, s.opt.Durability, s.blog)); err != nil {
		if isDiskError(err) || errors.Is(err, engine.ErrStoreDamaged) {
			return err
		}
		return damaged("opening the database: %v", firstLine(err))
	}
	return nil
}

// claim makes sure that dir is, or may become, a store of this version, and locks it.
func claim(dir string, o *Options) (l *dirLock, fresh bool, err error) {
	if _, _, err := readFormat(dir); err != nil {
		return nil, false, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, err
	}
	if l, err = lockDir(dir, o); err != nil {
		return nil, false, err
	}
	// Again: somebody else may have made the store meanwhile.
	if _, fresh, err = readFormat(dir); err != nil {
		_ = l.release(l.left == nil)
		return nil, false, err
	}
	return l, fresh, nil
}

// isDiskError reports whether the operating system refused something, as opposed to bytes that make no sense.
func isDiskError(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) && !errors.Is(err, fs.ErrNotExist)
}

// explain adds to an error what a user can do about it.
func explain(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; the store %s must be writable by this user, or name another one", err, dir)
	case isReadOnly(err):
		return fmt.Errorf("%w; the store %s must be on a writable file system, or name another one", err, dir)
	}
	return doctor(dir, err)
}

func (s *Store) start() {
	s.pins.init()
	s.w.start(s)
	s.collect.start(s)
	s.syncing.start(s)
}

// enter is called first by each method, and leave last when enter returned nil.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.open.RLock()
	if s.closed {
		s.open.RUnlock()
		return ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.open.RUnlock() }

// Dir returns the directory, Memory for a store in memory.
func (s *Store) Dir() string {
	if s.dir == "" {
		return Memory
	}
	return s.dir
}

// SetSocket tells other processes where this one takes requests, or with "" that it takes none any more.
func (s *Store) SetSocket(path string) error {
	if err := s.enter(context.Background()); err != nil {
		return err
	}
	defer s.leave()
	if s.lock == nil {
		return nil
	}
	s.lock.mu.Lock()
	defer s.lock.mu.Unlock()
	s.lock.holder.Socket = path
	return s.lock.announce()
}

// Close waits for the calls under way and closes the store. A second call returns nil.
func (s *Store) Close() error {
	s.open.Lock()
	if s.closed {
		s.open.Unlock()
		return nil
	}
	s.closed = true
	s.open.Unlock()
	s.collect.stop()
	err := s.shut()
	if s.lock != nil {
		err = errors.Join(err, s.lock.release(err == nil && s.w.broken() == nil))
	}
	if err != nil {
		return fmt.Errorf("close store: %w", err)
	}
	return nil
}

// shut ends what Open started but the collector, and keeps the lock.
func (s *Store) shut() error {
	s.w.stop()
	s.syncing.stop()
	s.mergeYoung()
	err := s.closeBadger()
	if err == nil && s.dir != "" {
		err = tidy(filepath.Join(s.dir, badgerDir))
	}
	return err
}
