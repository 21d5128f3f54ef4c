package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"google.golang.org/protobuf/proto"
)

// This file reads Badger's tables and its manifest. Badger ends the process when the index of a table is damaged, leaves
// out a table with a wrong checksum, and deletes tables that a truncated manifest does not name. So we look first.

var errTable = errors.New("the table is damaged")

// scanTable goes through a table. Each, when it is not nil, gets the entries of the intact blocks. Bad is the number of
// blocks that are damaged. The error is about the table as a whole.
func scanTable(b []byte, each func(e rawEntry)) (bad int, err error) {
	defer func() { // the index is a format of its own, whose reader does not check much
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %s", errTable, firstLine(r))
		}
	}()
	tail := func(end int) (part []byte, start int, ok bool) {
		if end < 4 || end > len(b) {
			return nil, 0, false
		}
		n := int(binary.BigEndian.Uint32(b[end-4:]))
		if start = end - 4 - n; n < 0 || start < 0 {
			return nil, 0, false
		}
		return b[start : end-4], start, true
	}
	sum, end, ok := tail(len(b))
	if !ok {
		return 0, errTable
	}
	index, _, ok := tail(end)
	if !ok || len(index) == 0 || !rightSum(index, sum) {
		return 0, errTable
	}
	ti := fb.GetRootAsTableIndex(index, 0)
	if ti.OffsetsLength() == 0 {
		return 0, errTable
	}
	for i := range ti.OffsetsLength() {
		var bo fb.BlockOffset
		if !ti.Offsets(&bo, i) {
			return bad, errTable
		}
		from, n := int(bo.Offset()), int(bo.Len())
		if from < 0 || n < 0 || from+n > len(b) || !scanBlock(b[from:from+n], each) {
			bad++
		}
	}
	return bad, nil
}

func rightSum(data, sum []byte) bool {
	var c pb.Checksum
	if proto.Unmarshal(sum, &c) != nil || c.Algo != pb.Checksum_CRC32C && c.Algo != pb.Checksum_XXHash64 {
		return false
	}
	return y.VerifyChecksum(data, &c) == nil
}

// scanBlock reads entries, their offsets (4 bytes each), the number of them, the checksum, its length.
func scanBlock(b []byte, each func(e rawEntry)) bool {
	if len(b) < 8 {
		return false
	}
	n := int(binary.BigEndian.Uint32(b[len(b)-4:]))
	end := len(b) - 4 - n // of the number of entries
	if n < 0 || end < 4 || !rightSum(b[:end], b[end:len(b)-4]) {
		return false
	}
	count := int(binary.BigEndian.Uint32(b[end-4:]))
	offsets := end - 4 - 4*count
	if count <= 0 || count > len(b) || offsets < 0 {
		return false
	}
	if each == nil {
		return true
	}
	at := func(i int) int {
		if i == count {
			return offsets
		}
		return int(binary.NativeEndian.Uint32(b[offsets+4*i:]))
	}
	var base []byte
	for i := range count {
		e := b[at(i):at(i+1)]
		overlap, diff := int(binary.NativeEndian.Uint16(e)), int(binary.NativeEndian.Uint16(e[2:]))
		if i == 0 {
			base = e[4 : 4+diff]
		}
		k := append(append(make([]byte, 0, overlap+diff), base[:overlap]...), e[4:4+diff]...)
		v := e[4+diff:]
		_, w := binary.Uvarint(v[2:])
		if len(k) < 9 || w <= 0 {
			return false
		}
		each(rawEntry{key: k, meta: v[0], value: v[2+w:], version: keyVersion(k)})
	}
	return true
}

// readManifest returns the tables that the manifest names.
func readManifest(path string) ([]uint64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseManifest(b)
}

func parseManifest(b []byte) ([]uint64, error) {
	if len(b) < 8 || string(b[:4]) != "Bdgr" {
		return nil, errors.New("it does not begin as it should")
	}
	tables := map[uint64]bool{}
	for p := 8; p < len(b); {
		if len(b)-p < 8 {
			return nil, errors.New("its end is missing")
		}
		n, sum := int(binary.BigEndian.Uint32(b[p:])), binary.BigEndian.Uint32(b[p+4:])
		p += 8
		if n < 0 || n > len(b)-p {
			return nil, errors.New("its end is missing")
		}
		part := b[p : p+n]
		p += n
		var set pb.ManifestChangeSet
		if crc32.Checksum(part, castagnoli) != sum || proto.Unmarshal(part, &set) != nil {
			return nil, errors.New("a checksum is wrong")
		}
		for _, c := range set.Changes {
			if c.Op == pb.ManifestChange_DELETE {
				delete(tables, c.Id)
				continue
			}
			if c.KeyId != 0 || c.Compression != uint32(options.None) || c.Level > 16 {
				return nil, errors.New("it names a table that is not ours")
			}
			tables[c.Id] = true
		}
	}
	var ids []uint64
	for id := range tables {
		ids = append(ids, id)
	}
	return ids, nil
}

func tablePath(dir string, id uint64) string { return filepath.Join(dir, table.IDToFilename(id)) }
