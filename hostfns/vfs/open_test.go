package vfs_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/cas"
	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// part writes records by hand.
type part []byte

func newPart() part { return part{1} }

func (p part) rec(kind byte, numbers ...uint64) part {
	p = append(p, kind)
	for _, n := range numbers {
		p = binary.AppendUvarint(p, n)
	}
	return p
}

func (p part) str(s string) part {
	return append(binary.AppendUvarint(p, uint64(len(s))), s...)
}

const (
	aFile, aDir, aLink = 0, 1, 2
	orphaned           = 4
)

func (p part) file(ino, kind, size uint64) part {
	return p.rec('i', ino, kind, 0o644, 0, 0, 0, size, 1)
}
func (p part) dir(ino, next uint64) part       { return p.rec('i', ino, aDir, 0o755, 0, 0, 0, next) }
func (p part) link(ino uint64, to string) part { return p.rec('i', ino, aLink, 0o777, 0, 0, 0).str(to) }

// in begins entries, of which the sequence numbers are given as distances.
func (p part) in(dir uint64) part { return p.rec('d', dir) }
func (p part) entry(name string, ino uint64, step int64) part {
	return binary.AppendVarint(binary.AppendUvarint(p.rec('e').str(name), ino), step)
}
func (p part) chunk(step int64, size, ref uint64) part {
	return binary.AppendUvarint(binary.AppendUvarint(binary.AppendVarint(append(p, 'c'), step), size), ref)
}

// frameOf stores a chain of frames, of one part each, with the head of the last one.
func frameOf(t testing.TB, store *testStore, head string, refs []cas.Hash, parts ...[]byte) cas.Hash {
	t.Helper()
	var b cas.Batch
	var base *cas.Frame
	var hash cas.Hash
	for _, p := range parts {
		ph, err := b.Add(cas.Object{Data: p, Refs: refs})
		must(t, err)
		f := cas.NewFrame(base, hash, []cas.Hash{ph}, int64(len(p)), json.RawMessage(head))
		o, err := f.Object(vfs.FrameKind)
		must(t, err)
		hash, err = b.Add(o)
		must(t, err)
		base = &f
	}
	must(t, store.add(&b))
	return hash
}

func head(next, files, bytes int) string {
	return fmt.Sprintf(`{"next":%d,"files":%d,"bytes":%d}`, next, files, bytes)
}

func TestOpenByHand(t *testing.T) {
	store := newTestStore()
	data, err := store.Put(cas.Object{Data: []byte("hello")})
	must(t, err)
	p := newPart().dir(1, 3).file(2, aFile, 5).chunk(0, 512, 1).link(3, "a").in(1).entry("a", 2, 0).entry("l", 3, 2)
	m, err := vfs.Open(store, frameOf(t, store, head(4, 2, 513), []cas.Hash{data}, p), nil)
	must(t, err)
	must(t, m.CheckState())
	if got, err := m.ReadFile("l"); err != nil || string(got) != "hello" {
		t.Fatal(string(got), err)
	}
}

func TestOpenIsHostile(t *testing.T) {
	root := func(next uint64) part { return newPart().dir(1, next) }
	deep, last := root(1).in(1).entry("d", 2, 0), uint64(2)
	for ; last < vfs.MaxDepth+2; last++ {
		deep = deep.dir(last, 1).in(last).entry("d", last+1, 0)
	}
	deep = deep.dir(last, 0)
	many := root(2000).file(2, aFile, 0).in(1).entry("0", 2, 0)
	for i := range vfs.MaxLinks {
		many = many.entry(fmt.Sprint("l", i), 2, 1)
	}
	tests := map[string]struct {
		head  string
		parts [][]byte
	}{
		"nothing":            {head(2, 0, 0), [][]byte{newPart()}},
		"empty part":         {head(2, 0, 0), [][]byte{{}}},
		"another version":    {head(2, 0, 0), [][]byte{{2}}},
		"unknown record":     {head(2, 0, 0), [][]byte{root(0).rec('q')}},
		"cut off":            {head(2, 0, 0), [][]byte{root(0)[:5]}},
		"root is a file":     {head(2, 0, 0), [][]byte{newPart().file(1, aFile, 0)}},
		"root is an orphan":  {head(2, 1, 0), [][]byte{newPart().rec('i', 1, aDir|orphaned, 0o755, 0, 0, 0, 0)}},
		"root goes away":     {head(2, 0, 0), [][]byte{root(0).rec('g', 1)}},
		"number 0":           {head(2, 0, 0), [][]byte{root(0).file(0, aFile, 0)}},
		"number too high":    {head(2, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry("a", 2, 0)}},
		"huge number":        {head(2, 1, 0), [][]byte{root(1).file(1<<63, aFile, 0).in(1).entry("a", 1<<63, 0)}},
		"next is huge":       {`{"next":18446744073709551615}`, [][]byte{root(0)}},
		"head is wrong":      {`[]`, [][]byte{root(0)}},
		"files are wrong":    {head(2, 1, 0), [][]byte{root(0)}},
		"bytes are wrong":    {head(2, 0, 1), [][]byte{root(0)}},
		"kind 3":             {head(3, 1, 0), [][]byte{root(1).file(2, 3, 0).in(1).entry("a", 2, 0)}},
		"kind 8":             {head(3, 1, 0), [][]byte{root(1).file(2, 8, 0).in(1).entry("a", 2, 0)}},
		"mode":               {head(3, 1, 0), [][]byte{root(1).rec('i', 2, aFile, 0o7777, 0, 0, 0, 0, 0).in(1).entry("a", 2, 0)}},
		"described twice":    {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).file(2, aFile, 1).in(1).entry("a", 2, 0)}},
		"never described":    {head(3, 1, 0), [][]byte{root(1).in(1).entry("a", 2, 0)}},
		"another type":       {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry("a", 2, 0), newPart().dir(2, 0)}},
		"slash":              {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry("a/b", 2, 0)}},
		"dot":                {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry(".", 2, 0)}},
		"dotdot":             {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry("..", 2, 0)}},
		"NUL":                {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry("a\x00", 2, 0)}},
		"empty name":         {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry("", 2, 0)}},
		"long name":          {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry(strings.Repeat("a", 256), 2, 0)}},
		"empty target":       {head(3, 1, 0), [][]byte{root(1).link(2, "").in(1).entry("a", 2, 0)}},
		"long target":        {head(3, 1, 5000), [][]byte{root(1).link(2, strings.Repeat("a", 5000)).in(1).entry("a", 2, 0)}},
		"NUL target":         {head(3, 1, 3), [][]byte{root(1).link(2, "a\x00b").in(1).entry("a", 2, 0)}},
		"order":              {head(4, 2, 0), [][]byte{root(9).file(2, aFile, 0).file(3, aFile, 0).in(1).entry("a", 2, 5).entry("b", 3, -1)}},
		"sequence too high":  {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry("a", 2, 1)}},
		"negative sequence":  {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 0).in(1).entry("a", 2, -1)}},
		"root in itself":     {head(2, 1, 0), [][]byte{root(1).in(1).entry("a", 1, 0)}},
		"two parents":        {head(4, 3, 0), [][]byte{root(1).dir(2, 1).dir(3, 0).in(1).entry("a", 2, 0).in(2).entry("b", 3, 0).in(1).entry("c", 3, 0)}},
		"cycle":              {head(4, 2, 0), [][]byte{root(0).dir(2, 1).dir(3, 1).in(2).entry("a", 3, 0).in(3).entry("b", 2, 0)}},
		"unreachable":        {head(3, 0, 0), [][]byte{root(0).file(2, aFile, 0)}},
		"orphan with a name": {head(3, 1, 0), [][]byte{root(1).file(2, aFile|orphaned, 0).in(1).entry("a", 2, 0)}},
		"orphan not empty":   {head(4, 2, 0), [][]byte{root(0).rec('i', 2, aDir|orphaned, 0o755, 0, 0, 0, 1).file(3, aFile, 0).in(2).entry("a", 3, 0)}},
		"too deep":           {head(int(last)+1, int(last)-1, 0), [][]byte{deep}},
		"too many links":     {head(3, vfs.MaxLinks+1, 0), [][]byte{many}},
		"entry of a file":    {head(4, 2, 0), [][]byte{root(1).file(2, aFile, 0).file(3, aFile, 0).in(1).entry("a", 2, 0).in(2).entry("b", 3, 0)}},
		"chunk of a dir":     {head(2, 0, 512), [][]byte{root(0).chunk(0, 512, 0)}},
		"chunk of nothing":   {head(2, 0, 512), [][]byte{newPart().chunk(0, 512, 0)}},
		"chunks not sorted":  {head(3, 1, 8192), [][]byte{root(1).file(2, aFile, 1<<20).chunk(2, 4096, 0).chunk(-1, 4096, 0).in(1).entry("a", 2, 0)}},
		"chunk twice":        {head(3, 1, 8192), [][]byte{root(1).file(2, aFile, 1<<20).chunk(2, 4096, 0).chunk(0, 4096, 0).in(1).entry("a", 2, 0)}},
		"chunk too big":      {head(3, 1, 65537), [][]byte{root(1).file(2, aFile, 1<<20).chunk(0, 65537, 0).in(1).entry("a", 2, 0)}},
		"chunk too small":    {head(3, 1, 511), [][]byte{root(1).file(2, aFile, 1<<20).chunk(0, 511, 0).in(1).entry("a", 2, 0)}},
		"chunk after end":    {head(3, 1, 4096), [][]byte{root(1).file(2, aFile, 65536).chunk(1, 4096, 0).in(1).entry("a", 2, 0)}},
		"chunk reference":    {head(3, 1, 512), [][]byte{root(1).file(2, aFile, 1).chunk(0, 512, 1).in(1).entry("a", 2, 0)}},
		"negative chunk":     {head(3, 1, 4096), [][]byte{root(1).file(2, aFile, 1).chunk(-1, 4096, 0).in(1).entry("a", 2, 0)}},
		"file too long":      {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 1<<60).in(1).entry("a", 2, 0)}},
		"file goes on":       {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 1).rec('f', 2).in(1).entry("a", 2, 0)}},
		"no entry to remove": {head(2, 0, 0), [][]byte{root(0), newPart().in(1).rec('n').str("a")}},
		"no chunk to remove": {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 1).in(1).entry("a", 2, 0), newPart().rec('f', 2).rec('x', 0)}},
		"gone has a name":    {head(3, 1, 0), [][]byte{root(1).file(2, aFile, 1).in(1).entry("a", 2, 0), newPart().rec('g', 2)}},
		"gone was not there": {head(3, 0, 0), [][]byte{root(0), newPart().rec('g', 2)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			store := newTestStore()
			_, err := vfs.Open(store, frameOf(t, store, tc.head, nil, tc.parts...), nil)
			if !errors.Is(err, cas.ErrDamaged) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestOpenQuotas(t *testing.T) {
	s := newStored(vfs.Options{})
	for i := range 20 {
		must(t, s.WriteFile(fmt.Sprint(i), []byte("x"), 0o644))
	}
	must(t, s.WriteFile("long", make([]byte, 100_000), 0o644))
	c := s.commit(t)
	for name, o := range map[string]*vfs.Options{
		"files": {MaxFiles: 20}, "bytes": {MaxBytes: 50_000}, "size": {MaxFileSize: 99_999},
	} {
		_, err := vfs.Open(s.store, c.Frame, o)
		if !errors.Is(err, vfs.ENOSPC) || errors.Is(err, cas.ErrDamaged) || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := vfs.Open(s.store, cas.Hash{1}, nil); !errors.Is(err, cas.ErrMissing) {
		t.Error(err)
	}
	o, err := s.store.Get(c.Frame)
	must(t, err)
	delete(s.store.objects, o.Refs[0])
	if _, err := vfs.Open(s.store, c.Frame, nil); !errors.Is(err, cas.ErrMissing) {
		t.Error(err)
	}
}

// A few objects that are named over and over must not take long.
func TestOpenWorkIsBounded(t *testing.T) {
	store := newTestStore()
	p := newPart().dir(1, 1)
	for len(p) < cas.MaxData-10 {
		p = p.rec('d', 1)
	}
	var b cas.Batch
	h, err := b.Add(cas.Object{Data: p})
	must(t, err)
	parts := make([]cas.Hash, 8000)
	for i := range parts {
		parts[i] = h
	}
	o, err := cas.NewFrame(nil, cas.Hash{}, parts, 1, json.RawMessage(head(2, 0, 0))).Object(vfs.FrameKind)
	must(t, err)
	top, err := b.Add(o)
	must(t, err)
	must(t, store.add(&b))
	if _, err := vfs.Open(store, top, nil); err == nil || store.gets > 200 {
		t.Fatal(store.gets, err)
	}
}

// An object that is not what the frame says must not show bytes that are not the file's.
func TestChunkOfAnotherShape(t *testing.T) {
	for name, o := range map[string]cas.Object{
		"longer than the file": {Data: []byte("123456")},
		"longer than charged":  {Data: []byte(strings.Repeat("x", 600))},
		"zeros at the end":     {Data: []byte("1234\x00")},
		"empty":                {},
		"with references":      {Data: []byte("12345"), Refs: []cas.Hash{{1}}},
	} {
		store := newTestStore()
		h, err := store.Put(o)
		must(t, err)
		p := newPart().dir(1, 1).file(2, aFile, 5).chunk(0, 512, 1).in(1).entry("a", 2, 0)
		m, err := vfs.Open(store, frameOf(t, store, head(3, 1, 512), []cas.Hash{h}, p), nil)
		must(t, err)
		if _, err := m.ReadFile("a"); vfs.ErrnoOf(err) != sys.EIO || !errors.Is(m.Err(), cas.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzOpen opens crafted states. What can be opened must be a valid file system: it can be read, changed, committed, and
// opened again.
func FuzzOpen(f *testing.F) {
	refs := []cas.Hash{cas.Object{Data: []byte("some data")}.Sum(), {1}}
	seed := func(build func(s *stored), change func(s *stored)) {
		s := newStored(vfs.Options{})
		build(s)
		var args [][]byte
		for range 2 {
			o, err := s.store.Get(s.commit(f).Frame)
			must(f, err)
			fr, err := cas.ParseFrame(o, vfs.FrameKind)
			must(f, err)
			p, err := s.store.Get(fr.Parts[0])
			must(f, err)
			args = append(args, p.Data, fr.Head)
			change(s)
		}
		f.Add(args[0], args[2], string(args[1]), string(args[3]))
	}
	seed(func(s *stored) {}, func(s *stored) { s.Mkdir("a", 0o755) })
	seed(func(s *stored) { fill(f, s.FS); s.Mkdir("d", 0o755); s.Link("f0", "d/l"); s.Symlink("x", "d/s") },
		func(s *stored) { s.Rename("f0", "g"); s.Unlink("d/s"); s.WriteFile("g", make([]byte, 200_000), 0o600) })
	seed(func(s *stored) {}, func(s *stored) {
		o := mustOpen(f, s, "orphan", sys.O_RDWR|sys.O_CREAT)
		o.Pwrite([]byte("data"), 200_000)
		s.Unlink("orphan")
		for i := range 20 {
			s.WriteFile(fmt.Sprint(i), []byte("x"), 0o644)
		}
	})
	f.Fuzz(func(t *testing.T, first, second []byte, head1, head2 string) {
		if len(first) > 4000 || len(second) > 4000 || !json.Valid([]byte(head1)) || !json.Valid([]byte(head2)) {
			return
		}
		store := newTestStore()
		store.Put(cas.Object{Data: []byte("some data")})
		openCrafted(t, store, frameOf(t, store, head1, refs, first))
		if len(second) > 0 {
			openCrafted(t, store, frameOf(t, store, head2, refs, first, second))
		}
	})
}

func openCrafted(t *testing.T, store *testStore, frame cas.Hash) {
	m, err := vfs.Open(store, frame, &vfs.Options{MaxBytes: 64 << 20, MaxFiles: 1000})
	if err != nil {
		if !errors.Is(err, cas.ErrDamaged) && !errors.Is(err, vfs.ENOSPC) {
			t.Fatalf("an error of another kind: %v", err)
		}
		return
	}
	must(t, m.CheckState())
	must(t, m.WalkDir(".", func(i vfs.Info) error {
		if _, err := m.ReadFile(i.Path); i.Mode.IsRegular() && err != nil && vfs.ErrnoOf(err) != sys.EIO && vfs.ErrnoOf(err) != vfs.EFBIG {
			t.Fatal(err)
		}
		return nil
	}))
	m.WriteFile("new", []byte("new"), 0o644)
	m.DropOrphans()
	must(t, m.CheckInvariants(0, 0))
	var b cas.Batch
	c, err := m.Commit(&b)
	must(t, err)
	must(t, store.add(&b))
	m.Committed()
	again, err := vfs.Open(store, c.Frame, &vfs.Options{MaxBytes: 64 << 20, MaxFiles: 1000})
	must(t, err)
	must(t, again.CheckState())
	must(t, m.Remove("/"))
	m.Rollback()
	must(t, m.CheckState())
	if _, err := m.StatFile("new"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}
