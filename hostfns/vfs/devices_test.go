package vfs_test

import (
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

func TestDevices(t *testing.T) {
	tree := vfs.NewTree(vfs.New(nil))
	if err := tree.Mount("/dev", vfs.Devices(nil)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 32)
	for name, want := range map[string]int{"dev/null": 0, "dev/zero": 32, "dev/random": 32, "dev/urandom": 32} {
		f, errno := tree.OpenFile(name, sys.O_RDWR|sys.O_CREAT|sys.O_TRUNC, 0o600)
		if errno != 0 {
			t.Errorf("%s: %v", name, errno)
			continue
		}
		if n, errno := f.Write([]byte("dropped")); n != 7 || errno != 0 {
			t.Errorf("%s: wrote %d, %v", name, n, errno)
		}
		if n, errno := f.Read(buf); n != want || errno != 0 {
			t.Errorf("%s: read %d, %v", name, n, errno)
		}
		if st, errno := f.Stat(); errno != 0 || st.Mode.IsRegular() || st.Mode.IsDir() {
			t.Errorf("%s: mode %v, %v", name, st.Mode, errno)
		}
		f.Close()
	}
	d, errno := tree.OpenFile("dev", sys.O_RDONLY|sys.O_DIRECTORY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer d.Close()
	if entries, errno := d.Readdir(-1); len(entries) != 4 || errno != 0 {
		t.Errorf("%d entries, %v", len(entries), errno)
	}
	for what, got := range map[string]sys.Errno{
		"new file": errnoOf(tree.OpenFile("dev/sda", sys.O_RDWR|sys.O_CREAT, 0o600)),
		"remove":   tree.Unlink("dev/null"),
		"mkdir":    tree.Mkdir("dev/shm", 0o755),
	} {
		if got != sys.EROFS {
			t.Errorf("%s: %v", what, got)
		}
	}
	if got := errnoOf(tree.OpenFile("dev/tty", sys.O_RDONLY, 0)); got != sys.ENOENT {
		t.Errorf("missing device: %v", got)
	}
}

func TestLutimens(t *testing.T) {
	m := vfs.New(nil)
	tree := vfs.NewTree(m)
	if errno := m.Symlink("nowhere", "link"); errno != 0 {
		t.Fatal(errno)
	}
	if errno := tree.Lutimens("link", 5e9, 7e9); errno != 0 {
		t.Fatal(errno)
	}
	if st, errno := tree.Lstat("link"); errno != 0 || st.Mtim != 7e9 {
		t.Errorf("mtime %d, %v", st.Mtim, errno)
	}
	if errno := tree.Utimens("link", 5e9, 7e9); errno != sys.ENOENT {
		t.Errorf("of the missing target: %v", errno)
	}
}

func errnoOf(_ sys.File, errno sys.Errno) sys.Errno { return errno }
