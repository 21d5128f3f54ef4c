package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileTar has entries that lead out of where they are unpacked.
func hostileTar(headers ...tar.Header) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		body := ""
		if h.Typeflag == tar.TypeReg {
			body = "hostile"
			h.Size = int64(len(body))
		}
		h.Mode = 0o644
		if err := w.WriteHeader(&h); err != nil {
			panic(err)
		}
		w.Write([]byte(body))
	}
	w.Close()
	return b.Bytes()
}

var hostileTars = [][]byte{
	hostileTar(tar.Header{Typeflag: tar.TypeReg, Name: "../victim"}),
	hostileTar(tar.Header{Typeflag: tar.TypeReg, Name: "a/../../victim"}),
	hostileTar(tar.Header{Typeflag: tar.TypeSymlink, Name: "l", Linkname: ".."}, tar.Header{Typeflag: tar.TypeReg, Name: "l/victim"}),
	hostileTar(tar.Header{Typeflag: tar.TypeSymlink, Name: "a", Linkname: "."}, tar.Header{Typeflag: tar.TypeSymlink, Name: "a/b", Linkname: "../.."}, tar.Header{Typeflag: tar.TypeReg, Name: "b/victim"}),
	hostileTar(tar.Header{Typeflag: tar.TypeSymlink, Name: "victim", Linkname: "../victim"}, tar.Header{Typeflag: tar.TypeReg, Name: "victim"}),
	hostileTar(tar.Header{Typeflag: tar.TypeLink, Name: "l", Linkname: "../victim"}, tar.Header{Typeflag: tar.TypeReg, Name: "l"}),
	hostileTar(tar.Header{Typeflag: tar.TypeDir, Name: "../victim-dir/"}),
	hostileTar(tar.Header{Typeflag: tar.TypeChar, Name: "device"}),
}

// checkUnpack unpacks in a directory whose neighbour must not be touched.
func checkUnpack(t *testing.T, b []byte) {
	t.Helper()
	top := t.TempDir()
	victim := filepath.Join(top, "victim")
	if err := os.WriteFile(victim, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := unpack(bytes.NewReader(b), filepath.Join(top, "out"), io.Discard)
	got, readErr := os.ReadFile(victim)
	if readErr != nil || string(got) != "untouched" {
		t.Errorf("the neighbour is %q, %v (%v)", got, readErr, err)
	}
	entries, readErr := os.ReadDir(top)
	if readErr != nil || len(entries) > 2 {
		t.Errorf("there are %v, %v (%v)", entries, readErr, err)
	}
	// Links that were made stay inside.
	filepath.WalkDir(filepath.Join(top, "out"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink == 0 {
			return nil
		}
		if to, err := filepath.EvalSymlinks(path); err == nil && !strings.HasPrefix(to, mustEval(t, filepath.Join(top, "out"))) {
			t.Errorf("%s leads to %s", path, to)
		}
		return nil
	})
}

func mustEval(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestUnpackHostile(t *testing.T) {
	for _, b := range hostileTars {
		checkUnpack(t, b)
	}
}

// TestUnpackSparse: a stream of a few KiB is not made a file of a TiB.
func TestUnpackSparse(t *testing.T) {
	const size = 1 << 40
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	body := make([]byte, 513)
	copy(body, fmt.Sprintf("1\n%d\n1\n", size-1))
	records := fmt.Sprintf("GNU.sparse.realsize=%d\n", size)
	for _, r := range []string{"GNU.sparse.major=1\n", "GNU.sparse.minor=0\n", "GNU.sparse.name=big\n"} {
		records += r
	}
	// archive/tar reads such entries and does not write them, so the extended header is made by hand.
	var pax strings.Builder
	for line := range strings.Lines(records) {
		pax.WriteString(paxRecord(line))
	}
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "PaxHeaders/x", Size: int64(pax.Len())}); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, pax.String())
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "x", Size: int64(len(body))}); err != nil {
		t.Fatal(err)
	}
	w.Write(body)
	w.Close()
	stream := b.Bytes()
	sum := 0
	stream[156] = tar.TypeXHeader
	copy(stream[148:156], "        ")
	for _, c := range stream[:512] {
		sum += int(c)
	}
	copy(stream[148:156], fmt.Sprintf("%06o\x00 ", sum))
	if h, err := tar.NewReader(bytes.NewReader(stream)).Next(); err != nil || h.Size != size {
		t.Fatalf("not the stream that this is about: %+v, %v", h, err)
	}
	out := filepath.Join(t.TempDir(), "out")
	if err := unpack(bytes.NewReader(stream), out, io.Discard); err == nil || !strings.Contains(err.Error(), "a sparse file") {
		t.Errorf("unpacked: %v", err)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

// paxRecord puts a record's own length before it.
func paxRecord(line string) string {
	for n := len(line) + 2; ; n++ {
		if r := fmt.Sprintf("%d %s", n, line); len(r) == n {
			return r
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for _, b := range hostileTars {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 64<<10 {
			return
		}
		checkUnpack(t, b)
	})
}

// TestPack: what cannot be in a session is left out, and told of; the rest comes back as it was.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"d/run.sh": 0o755, "plain": 0o644} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	links := os.Symlink("d/run.sh", filepath.Join(dir, "link")) == nil
	odd := os.WriteFile(filepath.Join(dir, "odd\xff"), nil, 0o644) == nil // not every file system allows it
	var said strings.Builder
	out := filepath.Join(t.TempDir(), "out")
	r := pack(dir, &said)
	defer r.Close()
	if err := unpack(r, out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "d/run.sh"} {
		want, _ := os.Stat(filepath.Join(dir, name))
		got, err := os.Stat(filepath.Join(out, name))
		if err != nil || got.Mode() != want.Mode() || got.Size() != want.Size() {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if to, err := os.Readlink(filepath.Join(out, "link")); links && (err != nil || filepath.ToSlash(to) != "d/run.sh") {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if odd != strings.Contains(said.String(), "left out: odd\ufffd: programs see names in UTF-8 only") {
		t.Errorf("it said %q", said.String())
	}
}
