package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// found is the newest version of a row that a salvage has seen.
type found struct {
	version uint64
	deleted bool
	value   []byte // nil: it is in a value log
	at      place
}

// place is where in the value logs a value is.
type place struct {
	fid, len, off uint32
}

// salvage makes a new database of what can be read of one that Badger does not open. It reads the files itself. The old
// database stays beside the new one, and all that was found so far is mended by that.
func (c *checker) salvage(ctx context.Context, data string, opt *Options) error {
	rows, values, err := c.gather(ctx, data)
	if err != nil {
		return err
	}
	fresh := data + ".new"
	if err := os.RemoveAll(fresh); err != nil { // of a salvage that was interrupted
		return err
	}
	size, err := diskUse(data)
	if err != nil {
		return err
	}
	if err := (&space{c.r.Dir, opt.MinFree, opt.free}).check(size, true); err != nil {
		return err
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return err
	}
	kept, err := fill(ctx, fresh, rows, values, opt)
	if err != nil {
		return err
	}
	saved := ""
	for n := 1; ; n++ {
		saved = fmt.Sprintf("%s.damaged-%d", data, n)
		if _, err := os.Lstat(saved); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err := os.Rename(data, saved); err != nil {
		return err
	}
	c.r.Saved = saved
	if err := os.Rename(fresh, data); err != nil {
		return err
	}
	if err := syncDir(c.r.Dir); err != nil {
		return err
	}
	for i := range c.r.Findings {
		if f := &c.r.Findings[i]; f.Session == "" && f.Object == "" {
			f.Repaired = true
		}
	}
	c.r.did("copied %d rows that can be read into a new database; the damaged one is %s", kept, saved)
	return nil
}

// gather reads all files.
func (c *checker) gather(ctx context.Context, data string) (map[string]found, *valueFiles, error) {
	f, err := listFiles(data)
	if err != nil {
		return nil, nil, err
	}
	rows := map[string]found{}
	see := func(e rawEntry) {
		name := e.name()
		if len(name) == 0 || name[0] == '!' || e.meta&metaFin != 0 {
			return
		}
		old, ok := rows[string(name)]
		if ok && old.version >= e.version {
			return
		}
		n := found{version: e.version}
		switch {
		case e.meta&metaDelete != 0:
			n.deleted = true
		case e.meta&metaPtr != 0:
			if len(e.value) != 12 {
				return
			}
			u32 := binary.NativeEndian.Uint32
			n.at = place{u32(e.value), u32(e.value[4:]), u32(e.value[8:])}
		default:
			n.value = append([]byte{}, e.value...)
		}
		rows[string(name)] = n
	}
	done := 0
	read := func(name string) ([]byte, error) {
		if done++; c.o.Progress != nil {
			c.o.Progress(Progress{"salvage", done})
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return readSparse(filepath.Join(data, name))
	}
	// Tables that the manifest does not name were replaced by others.
	tables := f.tables
	if ids, err := readManifest(filepath.Join(data, manifestName)); err == nil && len(ids) > 0 {
		tables = ids
	}
	for _, id := range tables {
		b, err := read(filepath.Base(tablePath(data, id)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if _, err := scanTable(b, see); err != nil {
			c.r.add(Finding{Level: Error, File: inBadger(tablePath(data, id)), Text: "nothing of it can be read"})
		}
	}
	for _, name := range f.logs {
		b, err := read(name)
		if err != nil {
			return nil, nil, err
		}
		scanLog(b, true, true, func(_ int, e rawEntry) { see(e) })
	}
	if !c.badIndex {
		return rows, &valueFiles{dir: data}, nil
	}
	// The value logs have the keys as well. This helps when the table that names a value is lost, and may bring back what
	// was deleted.
	for _, name := range f.values {
		b, err := read(name)
		if err != nil {
			return nil, nil, err
		}
		fid, _ := strconv.ParseUint(strings.TrimSuffix(name, ".vlog"), 10, 32)
		scanLog(b, false, true, func(off int, e rawEntry) {
			k := string(e.name())
			if old, ok := rows[k]; ok && old.version > e.version || k[0] == '!' {
				return
			}
			rows[k] = found{version: e.version, at: place{uint32(fid), uint32(e.size), uint32(off)}}
		})
	}
	return rows, &valueFiles{dir: data}, nil
}

// valueFiles reads values. It keeps the latest file, since the rows are sorted by file.
type valueFiles struct {
	dir string
	fid uint32
	b   []byte
}

func (v *valueFiles) get(key string, at place) ([]byte, bool) {
	if v.b == nil || v.fid != at.fid {
		b, err := readSparse(filepath.Join(v.dir, fmt.Sprintf("%06d.vlog", at.fid)))
		if err != nil {
			return nil, false
		}
		v.fid, v.b = at.fid, b
	}
	if uint64(at.off)+uint64(at.len) > uint64(len(v.b)) {
		return nil, false
	}
	e, ok := parseLogEntry(v.b[at.off:at.off+at.len], nil)
	if !ok || string(e.name()) != key {
		return nil, false
	}
	return e.value, true
}

// fill writes rows into a new database. Counts and marks are not copied: they are made from what is there.
func fill(ctx context.Context, dir string, rows map[string]found, values *valueFiles, opt *Options) (kept int, err error) {
	db, err := openBadger(badgerOptions(dir, None, &badgerLog{log: opt.Logger}))
	if err != nil {
		return 0, err
	}
	defer func() {
		if err = errors.Join(err, db.Close()); err == nil {
			err = tidy(dir)
		}
	}()
	keys := sortedByPlace(rows)
	wb := db.NewWriteBatch()
	defer wb.Cancel()
	for i, k := range keys {
		if i%1000 == 0 && ctx.Err() != nil {
			return kept, ctx.Err()
		}
		r := rows[k]
		v := r.value
		if v == nil {
			ok := false
			if v, ok = values.get(k, r.at); !ok {
				continue
			}
		}
		if k[0] == keyObject && len(k) == 1+len(cas.Hash{}) {
			if _, err := decodeObject(cas.Hash([]byte(k[1:])), v); err != nil {
				continue
			}
		}
		if err := wb.Set([]byte(k), append([]byte{}, v...)); err != nil {
			return kept, err
		}
		kept++
	}
	return kept, wb.Flush()
}

// sortedByPlace returns the keys that are copied, in the order of the value logs.
func sortedByPlace(rows map[string]found) []string {
	keys := make([]string, 0, len(rows))
	for k, r := range rows {
		if !r.deleted && strings.IndexByte("osjhdm", k[0]) >= 0 {
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := rows[keys[i]].at, rows[keys[j]].at
		return a.fid < b.fid || a.fid == b.fid && a.off < b.off
	})
	return keys
}
