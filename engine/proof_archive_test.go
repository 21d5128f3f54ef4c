package engine_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/mayfly-run/mayfly/engine"
	"github.com/mayfly-run/mayfly/hostfns/cas"
)

// archive is an exported session taken apart, to be put together again with something wrong in it.
type archive struct {
	head    map[string]any
	records []map[string]any
	objects map[cas.Hash]cas.Object
}

// archiveFile is a file of an archive as it is in the tar file.
type archiveFile struct {
	name string
	data []byte
}

func exportSession(t testing.TB, e *engine.Engine, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := e.Export(t.Context(), name, &b, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decompress(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := zstd.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	out, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// compress makes an archive of the bytes of a tar file, quickly.
func compress(b []byte) []byte {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	defer z.Close()
	return z.EncodeAll(b, nil)
}

// untar lists the files of an archive.
func untar(t testing.TB, b []byte) (files []archiveFile) {
	t.Helper()
	tr := tar.NewReader(bytes.NewReader(decompress(t, b)))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, archiveFile{h.Name, data})
	}
}

// tarFiles is the contrary of untar.
func tarFiles(files []archiveFile) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o600, Size: int64(len(f.data))}); err != nil {
			panic(err)
		}
		if _, err := w.Write(f.data); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func pack(files []archiveFile) []byte { return compress(tarFiles(files)) }

// takeApart reads an archive.
func takeApart(t testing.TB, b []byte) *archive {
	t.Helper()
	a := &archive{objects: map[cas.Hash]cas.Object{}}
	for _, f := range untar(t, b) {
		switch {
		case f.name == "mayfly.json":
			a.head = decodeJSON(t, f.data)["session"].(map[string]any)
		case strings.HasPrefix(f.name, "records/"):
			a.records = append(a.records, decodeJSON(t, f.data))
		case strings.HasPrefix(f.name, "objects/"):
			a.add(decodeArchived(t, f.data))
		}
	}
	return a
}

// decodeArchived reads an object as archives have it: the number of references, these, and the data.
func decodeArchived(t testing.TB, b []byte) (o cas.Object) {
	t.Helper()
	n, k := binary.Uvarint(b)
	if k <= 0 {
		t.Fatal("no object")
	}
	b = b[k:]
	for range n {
		o.Refs, b = append(o.Refs, cas.Hash(b[:32])), b[32:]
	}
	o.Data = b
	return o
}

func encodeArchived(o cas.Object) []byte {
	b := binary.AppendUvarint(nil, uint64(len(o.Refs)))
	for _, r := range o.Refs {
		b = append(b, r[:]...)
	}
	return append(b, o.Data...)
}

func decodeJSON(t testing.TB, b []byte) (m map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

func encodeJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func (a *archive) add(o cas.Object) cas.Hash {
	h := o.Sum()
	a.objects[h] = o
	return h
}

// files puts the archive together: hashes and the chain of records are made right.
func (a *archive) files() []archiveFile {
	var body []archiveFile
	seen := map[cas.Hash]bool{}
	var visit func(h cas.Hash)
	visit = func(h cas.Hash) {
		o, ok := a.objects[h]
		if !ok || seen[h] {
			return
		}
		seen[h] = true
		for _, r := range o.Refs {
			visit(r)
		}
		body = append(body, archiveFile{"objects/" + h.String(), encodeArchived(o)})
	}
	var last cas.Hash
	for i, r := range a.records {
		if i > 0 {
			r["previous"] = last.String()
		}
		for _, h := range hashesIn(r) {
			visit(h)
		}
		b := encodeJSON(r)
		last = sha256.Sum256(b)
		body = append(body, archiveFile{fmt.Sprintf("records/%010d.json", i), b})
	}
	a.head["record"] = last.String()
	head := archiveFile{"mayfly.json", encodeJSON(map[string]any{"format": 1, "session": a.head})}
	end := archiveFile{"end.json", encodeJSON(map[string]any{"records": len(a.records), "last": last})}
	return append(append([]archiveFile{head}, body...), end)
}

// hashesIn finds what a record names.
func hashesIn(v any) (out []cas.Hash) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if k != "previous" && k != "tree" {
				out = append(out, hashesIn(e)...)
			}
		}
	case string:
		if h, err := cas.Parse(v); err == nil && !h.IsZero() {
			out = append(out, h)
		}
	}
	return out
}

func (a *archive) bytes() []byte { return pack(a.files()) }

// state is the state that a record has.
func (a *archive) state(step int) map[string]any { return a.records[step]["state"].(map[string]any) }

func (a *archive) last() int { return len(a.records) - 1 }

// frame changes the top frame of a state of the last record; kind is "files" or "memory".
func (a *archive) frame(t testing.TB, kind string, change func(f *cas.Frame)) {
	t.Helper()
	a.frameOf(t, a.last(), kind, change)
}

func (a *archive) frameOf(t testing.TB, step int, kind string, change func(f *cas.Frame)) {
	t.Helper()
	st := a.state(step)
	h, err := cas.Parse(fmt.Sprint(st[kind]))
	if err != nil {
		t.Fatal(err)
	}
	f, err := cas.ParseFrame(a.objects[h], kind)
	if err != nil {
		t.Fatal(err)
	}
	change(&f)
	o, err := f.Object(kind)
	if err != nil {
		t.Fatal(err)
	}
	st[kind] = a.add(o).String()
}

// raw changes the top object of a state of the last record.
func (a *archive) raw(t testing.TB, kind string, change func(o *cas.Object)) {
	t.Helper()
	st := a.state(a.last())
	h, err := cas.Parse(fmt.Sprint(st[kind]))
	if err != nil {
		t.Fatal(err)
	}
	o := a.objects[h]
	o.Refs, o.Data = append([]cas.Hash(nil), o.Refs...), bytes.Clone(o.Data)
	change(&o)
	st[kind] = a.add(o).String()
}
