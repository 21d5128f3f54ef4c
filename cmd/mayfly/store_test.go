package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mayfly-run/mayfly/engine"
)

func TestDataDir(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	other := filepath.Join(t.TempDir(), "other")
	for _, test := range []struct {
		system string
		env    map[string]string
		want   string
	}{
		{"linux", nil, filepath.Join(home, ".local", "share", "mayfly")},
		{"linux", map[string]string{"XDG_DATA_HOME": other}, filepath.Join(other, "mayfly")},
		{"linux", map[string]string{"XDG_DATA_HOME": "relative"}, filepath.Join(home, ".local", "share", "mayfly")},
		{"freebsd", map[string]string{"XDG_DATA_HOME": other}, filepath.Join(other, "mayfly")},
		{"darwin", map[string]string{"XDG_DATA_HOME": other}, filepath.Join(home, "Library", "Application Support", "mayfly")},
		{"windows", nil, filepath.Join(home, "AppData", "Local", "mayfly")},
		{"windows", map[string]string{"LOCALAPPDATA": other}, filepath.Join(other, "mayfly")},
	} {
		got, err := dataDir(test.system, func(n string) string { return test.env[n] }, func() (string, error) { return home, nil })
		if err != nil || got != test.want {
			t.Errorf("%s, %v: %s, %v, want %s", test.system, test.env, got, err, test.want)
		}
	}
	none := errors.New("no home")
	if dir, err := dataDir("linux", func(string) string { return "" }, func() (string, error) { return "", none }); !errors.Is(err, none) {
		t.Errorf("without a home: %s, %v", dir, err)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain é ☃": "plain é ☃", "a\x1b[2Jb": "a\ufffd[2Jb", "a\nb\tc": "a\ufffdb\ufffdc", "\u202eright to left": "\ufffdright to left", "\xff": "\ufffd",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	if got := printableLines("a\nb\tc\r\x00"); got != "a\nb\tc\ufffd\ufffd" {
		t.Errorf("lines are %q", got)
	}
}

func TestParseStep(t *testing.T) {
	for in, want := range map[string]int{"0": 0, "12": 12, "latest": engine.Latest} {
		if n, err := parseStep(in); err != nil || n != want {
			t.Errorf("%q is %d, %v", in, n, err)
		}
	}
	for _, in := range []string{"", "-1", "x", "1.5", "99999999999999999999"} {
		if n, err := parseStep(in); err == nil {
			t.Errorf("%q is %d", in, n)
		}
	}
}

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
