package main

import (
	"errors"
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

func TestTable(t *testing.T) {
	var b strings.Builder
	w := newTable(&b, "NAME", "SIZE", "WHAT")
	w.row("é", "1", "")
	w.row("long name", "", "x\ny")
	w.row()
	if err := w.flush(); err != nil || b.String() != "NAME       SIZE  WHAT\né          1\nlong name        x\ufffdy\n\n" {
		t.Errorf("%v\n%s", err, &b)
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
