package store

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
)

const (
	// memTableSize bounds a transaction: it may have 15 % of it.
	memTableSize = 16 << 20
	// valueThreshold: values from this size on go to the value log, which is written once, while the tables are written
	// again by each compaction and read as a whole by Open.
	valueThreshold = 4 << 10
	// memoryThreshold is Badger's limit for all values in its in-memory mode.
	memoryThreshold  = 1 << 20
	valueLogFileSize = 32 << 20
)

// badgerOptions suit a store that is embedded: little memory, few files, no goroutines for nothing.
func badgerOptions(dir string, d Durability, log badger.Logger) badger.Options {
	o := badger.DefaultOptions(dir).
		WithLogger(log).
		WithSyncWrites(d == Sync).
		WithNumVersionsToKeep(1).
		WithDetectConflicts(false). // one goroutine writes
		WithCompression(options.None).
		WithBlockCacheSize(0). // the blocks are mapped as they are
		WithMetricsEnabled(false).
		WithMemTableSize(memTableSize).
		WithNumMemtables(2).
		WithBaseTableSize(8 << 20).
		WithBaseLevelSize(32 << 20).
		WithNumCompactors(2).
		WithValueThreshold(valueThreshold).
		WithValueLogFileSize(valueLogFileSize).
		WithVerifyValueChecksum(true).
		WithChecksumVerificationMode(options.OnBlockRead).
		WithExternalMagic(formatVersion)
	if dir == "" {
		o = o.WithInMemory(true).WithValueThreshold(memoryThreshold).WithExternalMagic(0)
	}
	return o
}

// openBadger opens the database; a panic becomes an error.
func openBadger(o badger.Options) (db *badger.DB, err error) {
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, damaged("opening the database: %v", firstLine(r))
		}
	}()
	return badger.Open(o)
}

// guard turns a panic of f into an error: Badger panics on some damaged tables.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = damaged("reading the database: %v", firstLine(r))
		}
	}()
	return f()
}

func firstLine(v any) string {
	s := strings.TrimSpace(fmt.Sprint(v))
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	if len(s) > 300 {
		s = s[:300] + "..."
	}
	return s
}

// badgerLog passes on what Badger logs. Badger only logs when the sync of a value log fails, and acknowledges the commit;
// the log therefore remembers it.
type badgerLog struct {
	log        *slog.Logger
	syncFailed atomic.Pointer[string]
}

func (l *badgerLog) Errorf(f string, a ...any) {
	msg := strings.TrimSpace(fmt.Sprintf(f, a...))
	if strings.Contains(msg, "curlf sync") {
		l.syncFailed.CompareAndSwap(nil, &msg)
	}
	l.log.Warn("badger: " + msg)
}

func (l *badgerLog) Warningf(f string, a ...any) {
	l.log.Warn("badger: " + strings.TrimSpace(fmt.Sprintf(f, a...)))
}

func (l *badgerLog) Infof(f string, a ...any) { l.Debugf(f, a...) }

func (l *badgerLog) Debugf(f string, a ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("badger: " + strings.TrimSpace(fmt.Sprintf(f, a...)))
	}
}
