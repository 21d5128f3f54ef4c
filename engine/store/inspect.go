package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mayfly-run/mayfly/engine"
)

const (
	manifestName = "MANIFEST"
	discardName  = "DISCARD"
)

// files are Badger's files in a directory.
type files struct {
	dir      string
	tables   []uint64
	logs     []string // of memtables, oldest first; they are there after a crash only
	values   []string // value logs, oldest first
	manifest bool
}

func listFiles(dir string) (f files, err error) {
	f.dir = dir
	entries, err := os.ReadDir(dir) // sorted by name, which has leading zeros
	if err != nil {
		return f, err
	}
	for _, e := range entries {
		name := e.Name()
		stem, ext := strings.TrimSuffix(name, filepath.Ext(name)), filepath.Ext(name)
		id, err := strconv.ParseUint(stem, 10, 32)
		switch {
		case name == manifestName:
			f.manifest = true
		case err != nil:
		case ext == ".sst":
			f.tables = append(f.tables, id)
		case ext == ".mem":
			f.logs = append(f.logs, name)
		case ext == ".vlog":
			f.values = append(f.values, name)
		}
	}
	byNumber := func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	}
	slices.SortFunc(f.logs, byNumber)
	slices.SortFunc(f.values, byNumber)
	return f, nil
}

// inspect looks at the files before Badger does, and returns an error when Badger would end the process, or lose what is
// still there. Left is who did not close the store, nil when it was closed.
func inspect(dir string, left *Holder, log *slog.Logger) error {
	f, err := listFiles(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // made, but never opened
	}
	if err != nil {
		return err
	}
	if !f.manifest {
		if len(f.tables) > 0 || len(f.logs) > 0 {
			return damaged("the file %s is missing", filepath.Join(badgerDir, manifestName))
		}
		return nil
	}
	if err := f.checkTables(left == nil); err != nil {
		return err
	}
	if left != nil && len(f.logs) == 0 {
		msg := "whoever had the store open last did not close it, and its log is missing; unless it was just starting, " +
			"what it wrote last is lost"
		log.Warn(msg)
		if err := remember(filepath.Dir(dir), msg); err != nil {
			return err
		}
	}
	if err := f.checkLogs(left, log); err != nil {
		return err
	}
	if err := f.checkValues(log); err != nil {
		return err
	}
	if err := f.checkDiscard(log); err != nil {
		return err
	}
	return f.mergeSmall()
}

// checkTables reads all tables: Badger does not tell when it cannot read a part of one, but goes on without. Closed tells
// that the store was closed in good order, so that there is no table that the manifest does not name; Badger would delete it.
func (f *files) checkTables(closed bool) error {
	ids, err := readManifest(filepath.Join(f.dir, manifestName))
	if err != nil {
		if isDiskError(err) {
			return err
		}
		return damaged("the file %s cannot be read: %v", filepath.Join(badgerDir, manifestName), err)
	}
	for _, id := range f.tables {
		if closed && !slices.Contains(ids, id) {
			return damaged("the file %s is not named by %s", inBadger(tablePath(f.dir, id)), filepath.Join(badgerDir, manifestName))
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	var first error
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, id := range ids {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := checkTable(tablePath(f.dir, id)); err != nil {
				mu.Lock()
				first = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return first
}

func checkTable(path string) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return damaged("the file %s is missing", inBadger(path))
	}
	if err != nil {
		return err
	}
	bad, err := scanTable(b, nil)
	if err != nil {
		return damaged("the file %s: %v", inBadger(path), err)
	}
	if bad > 0 {
		return damaged("the file %s has %d blocks with a wrong checksum", inBadger(path), bad)
	}
	return nil
}

func inBadger(path string) string { return filepath.Join(badgerDir, filepath.Base(path)) }

// checkLogs looks at what a crash left. Badger cuts a log at the first entry that is damaged; this is right for what was
// being written, and loses sessions otherwise.
func (f *files) checkLogs(left *Holder, log *slog.Logger) error {
	for _, name := range f.logs {
		path := filepath.Join(f.dir, name)
		b, err := readSparse(path)
		if err != nil {
			return err
		}
		st := scanLog(b, true, false, nil)
		if st.badHeader {
			return damaged("the file %s does not begin as it should", inBadger(path))
		}
		if st.tail == 0 {
			continue
		}
		synced := left == nil || left.Durability != Async.String() && left.Durability != None.String()
		if st.lost && synced {
			return damaged("the file %s has a damaged entry at byte %d, and intact ones after it", inBadger(path), st.end)
		}
		msg := fmt.Sprintf("%s: the last %d bytes were not written completely; what was being written when the process "+
			"ended is not there", inBadger(path), st.tail)
		log.Warn(msg)
		if err := remember(filepath.Dir(f.dir), msg); err != nil {
			return err
		}
	}
	return nil
}

// checkValues looks at the value logs. The values are checked when they are read; but Badger cuts the latest value log at
// the first entry that is damaged. So that the other entries stay, it gets an empty one as the latest.
func (f *files) checkValues(log *slog.Logger) error {
	for i, name := range f.values {
		path := filepath.Join(f.dir, name)
		last := i == len(f.values)-1
		b, err := readHead(path, last)
		if err != nil {
			return err
		}
		if len(b) >= logHeader && binary.BigEndian.Uint64(b) != 0 {
			return damaged("the file %s does not begin as it should", inBadger(path))
		}
		if !last || len(b) <= logHeader {
			continue
		}
		if st := scanLog(b, false, false, nil); st.more {
			log.Warn("a value log has a damaged entry", "file", inBadger(path), "at", st.end)
			return f.addEmptyValueLog()
		}
	}
	return nil
}

func readHead(path string, all bool) ([]byte, error) {
	if all {
		return readSparse(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, logHeader)
	n, _ := f.Read(b)
	return b[:n], nil
}

// addEmptyValueLog makes a value log that comes after the others.
func (f *files) addEmptyValueLog() error {
	path := filepath.Join(f.dir, fmt.Sprintf("%06d.vlog", f.latestValues()+1))
	return os.WriteFile(path, make([]byte, logHeader), 0o600)
}

// latestValues is the number of the latest value log, 0 when there is none.
func (f *files) latestValues() uint64 {
	if len(f.values) == 0 {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSuffix(f.values[len(f.values)-1], ".vlog"), 10, 32)
	return n
}

// checkDiscard removes the file in which Badger notes how much of each value log is garbage, unless it makes sense:
// Badger trusts it so much that it may not come to an end. It is but a hint.
func (f *files) checkDiscard(log *slog.Logger) error {
	path := filepath.Join(f.dir, discardName)
	_, err := readDiscard(path)
	if errors.Is(err, engine.ErrStoreDamaged) {
		log.Warn("a file makes no sense; a new one is made", "file", inBadger(path))
		return os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// readDiscard returns the bytes of garbage for each value log. Most of the file is empty.
func readDiscard(path string) (map[uint64]int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	for n := min(int64(16<<10), fi.Size()); ; n = min(16*n, fi.Size()) {
		b := make([]byte, n)
		if _, err := io.ReadFull(io.NewSectionReader(f, 0, n), b); err != nil {
			return nil, err
		}
		m, ok := parseDiscard(b)
		switch {
		case ok && fi.Size() >= 1<<20 && fi.Size()%16 == 0:
			return m, nil
		case ok || n == fi.Size():
			return nil, damaged("the file %s makes no sense", inBadger(path))
		}
	}
}

// parseDiscard returns the bytes of garbage for each value log.
func parseDiscard(b []byte) (map[uint64]int64, bool) {
	m := map[uint64]int64{}
	for p := 0; p+16 <= len(b); p += 16 {
		fid, n := binary.BigEndian.Uint64(b[p:]), binary.BigEndian.Uint64(b[p+8:])
		if fid == 0 {
			return m, true
		}
		if _, twice := m[fid]; twice || fid > 1<<32 || n > 1<<40 {
			return nil, false
		}
		m[fid] = int64(n)
	}
	return m, false // no room at the end: Badger would have made more
}
