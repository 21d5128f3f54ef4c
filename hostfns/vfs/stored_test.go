package vfs_test

import (
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
	"github.com/mayfly-run/mayfly/internal/vfstest"
)

// stored is a file system with a store, and the options it has.
type stored struct {
	*vfs.FS
	store *testStore
	opts  vfs.Options
}

func newStored(o vfs.Options) *stored {
	s := &stored{store: newTestStore(), opts: o}
	o.Store = s.store
	s.FS = vfs.New(&o)
	return s
}

// commit stores the present state.
func (s *stored) commit(t testing.TB) vfs.Commit {
	t.Helper()
	var b cas.Batch
	c, err := s.Commit(&b)
	must(t, err)
	must(t, s.store.add(&b))
	must(t, s.store.complete(c.Frame))
	s.Committed()
	return c
}

// reopen commits, and opens what was committed.
func (s *stored) reopen(t testing.TB) *stored {
	t.Helper()
	c := s.commit(t)
	must(t, s.Close())
	return s.openFrame(t, c.Frame)
}

func (s *stored) openFrame(t testing.TB, frame cas.Hash) *stored {
	t.Helper()
	fsys, err := vfs.Open(s.store, frame, &s.opts)
	must(t, err)
	must(t, fsys.CheckState())
	return &stored{fsys, s.store, s.opts}
}

func TestStoredConformance(t *testing.T) {
	for name, o := range map[string]vfs.Options{
		"plain": {},
		"tiny":  {CacheBytes: 1 << 10, DirtyBytes: 1 << 16},
	} {
		newFS := func(t *testing.T, o vfs.Options) *stored {
			s := newStored(o)
			t.Cleanup(func() {
				must(t, s.CheckState())
				must(t, s.Err())
				must(t, s.Close())
				s.store.balanced(t)
			})
			return s
		}
		limits := func(b int64, f int) vfs.Options {
			o := o
			o.MaxBytes, o.MaxFiles = b, f
			return o
		}
		t.Run(name, func(t *testing.T) {
			vfstest.Run(t, vfstest.Impl{
				New:     func(t *testing.T) sys.FS { return newFS(t, o) },
				Limited: func(t *testing.T, b int64, f int) sys.FS { return newFS(t, limits(b, f)) },
				Reopen: func(t *testing.T, fsys sys.FS) sys.FS {
					s := fsys.(*stored).reopen(t)
					s.DropOrphans()
					return s
				},
			})
		})
		// Every test on a file system that was filled, committed, changed and rolled back to nothing.
		t.Run(name+" after a rollback", func(t *testing.T) {
			used := func(t *testing.T, o vfs.Options) sys.FS {
				s := newFS(t, o)
				s.Checkpoint()
				fill(t, s.FS)
				var b cas.Batch
				_, err := s.Commit(&b)
				must(t, err)
				must(t, s.Remove("/"))
				s.Rollback()
				must(t, s.CheckState())
				return s
			}
			vfstest.Run(t, vfstest.Impl{
				New:     func(t *testing.T) sys.FS { return used(t, o) },
				Limited: func(t *testing.T, b int64, f int) sys.FS { return used(t, limits(b, f)) },
			})
		})
		t.Run(name+" clone", func(t *testing.T) {
			vfstest.Run(t, vfstest.Impl{
				New: func(t *testing.T) sys.FS {
					s := newFS(t, o)
					c := s.Clone()
					t.Cleanup(func() { must(t, c.Close()) })
					return c
				},
			})
		})
	}
}

// fill makes a few of everything, within the smallest quota of the conformance suite.
func fill(t testing.TB, m *vfs.FS) {
	t.Helper()
	must(t, m.WriteFile("f", make([]byte, 1000), 0o600))
	mustErrno(t, m.Rename("f", "f0"), 0)
	must(t, m.WriteFile("f0", []byte("data"), 0o600))
}

func TestMemoryAfterRollbackConformance(t *testing.T) {
	vfstest.Run(t, vfstest.Impl{New: func(t *testing.T) sys.FS {
		m := vfs.New(nil)
		must(t, m.MkdirAll("a/b", 0o755))
		must(t, m.WriteFile("a/b/c", make([]byte, 200_000), 0o600))
		must(t, m.Remove("/"))
		m.Checkpoint()
		fill(t, m)
		must(t, m.MkdirAll("x/y", 0o755))
		m.Rollback()
		must(t, m.CheckState())
		return m
	}})
}
