package store

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/internal/storetest"
)

func TestMain(m *testing.M) {
	// Badger leaves these behind when it cannot open a damaged database.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/dgraph-io/badger/v4.(*DB).monitorCache"),
		goleak.IgnoreAnyFunction("github.com/dgraph-io/badger/v4.(*DB).updateSize"),
		goleak.IgnoreAnyFunction("github.com/dgraph-io/badger/v4/y.(*WaterMark).process"),
		goleak.IgnoreAnyFunction("github.com/dgraph-io/ristretto/v2/z.(*AllocatorPool).freeupAllocators"))
}

func TestSuite(t *testing.T) {
	for _, d := range []Durability{Sync, Async, None} {
		t.Run(d.String(), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) engine.Store { return open(t, t.TempDir(), &Options{Durability: d}) })
		})
	}
	t.Run("memory", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) engine.Store {
			s, err := OpenMemory(nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		})
	})
}

func open(t testing.TB, dir string, o *Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
