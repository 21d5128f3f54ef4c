package store

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"

	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// Stats are counts and sizes of a store.
type Stats struct {
	Sessions int `json:"sessions"`
	Steps    int `json:"steps"`
	Objects  int `json:"objects"`
	// Garbage are the objects that nobody names and that are still to be deleted, or are pinned.
	Garbage int `json:"garbage"`
	// Logical is the bytes of the objects, records and heads as they were given, Compressed as they are kept.
	Logical    int64 `json:"logical_bytes"`
	Compressed int64 `json:"compressed_bytes"`
	// Disk is the bytes of all files, without the holes in them; 0 in memory.
	Disk int64 `json:"disk_bytes"`
}

// Stats counts all that is in the store. It reads each row.
func (s *Store) Stats(ctx context.Context) (Stats, error) {
	var st Stats
	err := s.view(ctx, func(txn *badger.Txn) error {
		it := newIterator(txn, nil)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			item := it.Item()
			switch k := item.Key(); k[0] {
			case keyObject:
				st.Objects++
				st.Compressed += item.ValueSize()
				if err := value(item, func(b []byte) error {
					st.Logical += logicalSize(b)
					return nil
				}); err != nil {
					return err
				}
			case keyMark:
				st.Garbage++
			case keySession:
				st.Sessions++
				st.Logical, st.Compressed = st.Logical+item.ValueSize(), st.Compressed+item.ValueSize()
			case keyRecord:
				st.Steps++
				st.Logical, st.Compressed = st.Logical+item.ValueSize(), st.Compressed+item.ValueSize()
			}
		}
		return nil
	})
	if err == nil && s.dir != "" {
		st.Disk, err = diskUse(s.dir)
	}
	return st, err
}

// logicalSize is the size of an object before compression.
func logicalSize(row []byte) int64 {
	refs, rest, ok := decodeRefs(row)
	if !ok {
		return 0
	}
	n, w := binary.Uvarint(rest)
	if w <= 0 || n > cas.MaxData {
		return 0
	}
	return int64(n) + int64(len(refs)*len(cas.Hash{}))
}

// diskUse is the space that the files of a directory take. Badger makes files large and fills them later.
func diskUse(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return ignoreGone(err)
		}
		fi, err := d.Info()
		if err != nil {
			return ignoreGone(err)
		}
		n += allocated(fi)
		return nil
	})
	return n, err
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
