package engine_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// flip changes a byte of the n-th part of a state of the last record, and the hashes above it. It returns false when there
// is no such part or byte.
func (a *archive) flip(t testing.TB, kind string, part, at int, with byte) bool {
	t.Helper()
	ok := false
	a.frame(t, kind, func(f *cas.Frame) {
		if part >= len(f.Parts) {
			return
		}
		o := a.objects[f.Parts[part]]
		if at >= len(o.Data) {
			return
		}
		ok = true
		o.Data = bytes.Clone(o.Data)
		o.Data[at] ^= with
		f.Parts[part] = a.add(o)
	})
	return ok
}

// look imports an archive and has a short look at the session.
func (i *importer) look(t *testing.T, b []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	info, err := i.Import(ctx, bytes.NewReader(b), "looked-at")
	if err != nil {
		return
	}
	if j, err := i.Journal(ctx, info.ID); err == nil {
		_ = readFiles(ctx, j, info.Step)
	}
	if s, err := i.Open(ctx, info.ID, nil); err == nil {
		execLoosely(ctx, s, hostileLook)
		execLoosely(ctx, s, "open('new', 'w').write('x'); 1 + 1")
		_ = s.Close()
	}
	if ctx.Err() != nil {
		t.Error("it does not end")
	}
	if err := i.Remove(t.Context(), info.ID); err != nil {
		t.Error(err)
	}
}

// execLoosely runs code that may fail in any way.
func execLoosely(ctx context.Context, s *engine.Session, code string) {
	_, _ = s.Exec(ctx, engine.Request{Code: code})
}

// TestImportFlipped flips bytes of the files and the memory of a session.
func TestImportFlipped(t *testing.T) {
	slowUnderRace(t)
	i := newImporter(t)
	for kind, step := range map[string]int{"files": 3, "memory": 1999} {
		t.Run(kind, func(t *testing.T) {
			if testing.Short() {
				step *= 3
			}
			n := 0
			for at := 0; n < 50; at += step {
				a := takeApart(t, i.good)
				if !a.flip(t, kind, 0, at, 1<<(n%8)) {
					break
				}
				i.look(t, a.bytes())
				n++
			}
			if n < 5 {
				t.Errorf("only %d bytes", n)
			}
		})
	}
	i.empty()
}

// FuzzImport imports what it is given as a tar file. Its headers have checksums, so edits of an intact archive, whose hashes
// are made right again if so asked, get further.
func FuzzImport(f *testing.F) {
	i := newImporter(f)
	good := untar(f, i.good)
	f.Add(decompress(f, i.good), uint16(0), uint16(0), []byte{}, false)
	for n := range good {
		f.Add([]byte{}, uint16(n), uint16(3), []byte("\x00"), false)
	}
	for n := range 8 {
		f.Add([]byte{}, uint16(n), uint16(40), []byte{0xff, 0x80, 0x01}, true)
		f.Add([]byte{}, uint16(n), uint16(9), []byte(`-1`), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, file, at uint16, patch []byte, hashes bool) {
		switch {
		case len(raw) > 0:
			i.look(t, compress(raw))
		case !hashes:
			files := append([]archiveFile(nil), good...)
			n := int(file) % len(files)
			files[n].data = patched(files[n].data, int(at), patch)
			i.look(t, pack(files))
		default:
			a := takeApart(t, i.good)
			kind := [...]string{"files", "memory"}[file%2]
			edit := func(o *cas.Object) { o.Data = patched(o.Data, int(at), patch) }
			if file&2 == 0 {
				a.raw(t, kind, edit)
			} else {
				a.frame(t, kind, func(f *cas.Frame) {
					part := a.objects[f.Parts[0]]
					edit(&part)
					f.Parts[0] = a.add(part)
				})
			}
			i.look(t, a.bytes())
		}
	})
}

// patched overwrites a part of some data.
func patched(data []byte, at int, with []byte) []byte {
	out := bytes.Clone(data)
	if len(out) > 0 {
		copy(out[at%len(out):], with)
	}
	return out
}
