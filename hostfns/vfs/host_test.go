//go:build unix

package vfs_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// escapeFS makes a host directory with a secret beside it and links to it.
func escapeFS(t *testing.T, writable bool) (sys.FS, string) {
	t.Helper()
	top := t.TempDir()
	dir := filepath.Join(top, "shared")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(top, "secret"), []byte("secret"), 0o600))
	must(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "d", "in"), []byte("in"), 0o644))
	for name, target := range map[string]string{
		"abs": filepath.Join(top, "secret"), "up": "../secret", "d/up": "../../secret",
		"dirabs": top, "dirup": "..", "root": "/", "chain": "d/chain2", "d/chain2": "../up",
		"fine": "d/in", "d/fine": "../d/in",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	fsys, closeRoot, err := vfs.OpenHost(dir, writable)
	must(t, err)
	t.Cleanup(func() { closeRoot() })
	return fsys, top
}

func TestHostEscape(t *testing.T) {
	fsys, top := escapeFS(t, true)
	before := snapshotDir(t, top)
	for _, p := range []string{
		"abs", "up", "d/up", "chain", "dirabs/secret", "dirup/secret", "root/etc/passwd",
		"../secret", "d/../../secret", "/../secret", "..", "../shared/d/in",
	} {
		for _, flag := range []sys.Oflag{sys.O_RDONLY, sys.O_RDWR, sys.O_WRONLY | sys.O_CREAT | sys.O_TRUNC} {
			if f, errno := fsys.OpenFile(p, flag, 0o644); errno == 0 {
				f.Close()
				t.Errorf("%s opened with %d", p, flag)
			} else if errno != sys.EACCES {
				t.Errorf("%s: %v", p, errno)
			}
		}
		if _, errno := fsys.Stat(p); errno != sys.EACCES {
			t.Errorf("stat %s: %v", p, errno)
		}
		if fsys.Chmod(p, 0o777) == 0 || fsys.Utimens(p, 1, 1) == 0 {
			t.Errorf("%s was changed", p)
		}
	}
	for _, p := range []string{"dirup/new", "dirabs/new", "../new", "root/tmp/mayfly-new"} {
		if _, errno := fsys.OpenFile(p, sys.O_WRONLY|sys.O_CREAT, 0o644); errno == 0 {
			t.Errorf("%s was made", p)
		}
		if fsys.Mkdir(p, 0o755) == 0 || fsys.Symlink("x", p) == 0 || fsys.Rename("d/in", p) == 0 ||
			fsys.Link("d/in", p) == 0 {
			t.Errorf("%s was made", p)
		}
	}
	for _, p := range []string{"dirup/secret", "../secret", "dirabs/secret"} {
		if fsys.Unlink(p) == 0 || fsys.Rmdir(p) == 0 || fsys.Rename(p, "got") == 0 || fsys.Link(p, "got") == 0 {
			t.Errorf("%s was removed or taken", p)
		}
	}
	// No links that lead out for other host processes.
	for _, target := range []string{"/etc/passwd", "../secret", "d/../../secret", "/"} {
		mustErrno(t, fsys.Symlink(target, "l"), sys.EPERM)
	}
	mustErrno(t, fsys.Symlink("../d/in", "d/l"), 0)
	mustErrno(t, fsys.Unlink("d/l"), 0)
	if after := snapshotDir(t, top); after != before {
		t.Fatalf("the host changed:\n%s\n%s", before, after)
	}
	for _, p := range []string{"fine", "d/fine", "d/../d/in"} {
		mustOpen(t, fsys, p, sys.O_RDONLY)
	}
}

func snapshotDir(t *testing.T, dir string) string {
	var sb strings.Builder
	must(t, filepath.Walk(dir, func(p string, i os.FileInfo, err error) error {
		if err == nil {
			sb.WriteString(strings.TrimPrefix(p, dir) + " " + i.Mode().String() + "\n")
		}
		return err
	}))
	return sb.String()
}

// Through a Tree an absolute link means the guest's root, never the host's.
func TestHostEscapeThroughTree(t *testing.T) {
	fsys, top := escapeFS(t, true)
	root := vfs.New(nil)
	must(t, root.MkdirAll(top, 0o755))
	must(t, root.WriteFile(filepath.Join(top, "secret"), []byte("guest's own"), 0o644))
	tree := vfs.NewTree(root)
	must(t, tree.Mount("/mnt/host", fsys))
	f := mustOpen(t, tree, "mnt/host/abs", sys.O_RDONLY)
	buf := make([]byte, 100)
	if n, _ := f.Read(buf); string(buf[:n]) != "guest's own" {
		t.Fatalf("read %q", buf[:n])
	}
	for _, p := range []string{"mnt/host/up", "mnt/host/d/up", "mnt/host/chain"} {
		_, errno := tree.OpenFile(p, sys.O_RDONLY, 0)
		mustErrno(t, errno, sys.ENOENT) // /mnt/secret in the guest
	}
	mustOpen(t, tree, "mnt/host/root/mnt/host/d/in", sys.O_RDONLY)
	mustOpen(t, tree, "mnt/host/d/fine", sys.O_RDONLY)
}

func TestHostReadOnly(t *testing.T) {
	fsys, top := escapeFS(t, false)
	before := snapshotDir(t, top)
	for _, flag := range []sys.Oflag{sys.O_WRONLY, sys.O_RDWR, sys.O_RDONLY | sys.O_CREAT, sys.O_RDONLY | sys.O_TRUNC} {
		for _, p := range []string{"d/in", "new"} {
			_, errno := fsys.OpenFile(p, flag, 0o644)
			mustErrno(t, errno, sys.EROFS)
		}
	}
	for what, errno := range map[string]sys.Errno{
		"mkdir": fsys.Mkdir("x", 0o755), "rmdir": fsys.Rmdir("d"), "unlink": fsys.Unlink("d/in"),
		"rename": fsys.Rename("d/in", "x"), "link": fsys.Link("d/in", "x"), "symlink": fsys.Symlink("d", "x"),
		"chmod": fsys.Chmod("d", 0o700), "utimens": fsys.Utimens("d", 1, 1),
	} {
		if errno != sys.EROFS {
			t.Errorf("%s: %v", what, errno)
		}
	}
	f := mustOpen(t, fsys, "d/in", sys.O_RDONLY)
	mustErrno(t, f.Utimens(1, 1), sys.EROFS)
	if _, errno := f.Write([]byte("x")); errno != sys.EBADF {
		t.Fatal(errno)
	}
	mustErrno(t, f.Truncate(0), sys.EINVAL)
	if after := snapshotDir(t, top); after != before {
		t.Fatal("the host changed")
	}
}

func TestHostSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	must(t, os.Symlink("fifo", filepath.Join(dir, "link")))
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	must(t, err)
	defer l.Close()
	names := []string{"fifo", "link", "sock"}
	if syscall.Mknod(filepath.Join(dir, "null"), syscall.S_IFCHR|0o666, 1<<8|3) == nil {
		names = append(names, "null")
	}
	for _, writable := range []bool{false, true} {
		fsys, closeRoot, err := vfs.OpenHost(dir, writable)
		must(t, err)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, name := range names {
				for _, flag := range []sys.Oflag{sys.O_RDONLY, sys.O_RDWR, sys.O_WRONLY} {
					if !writable && flag != sys.O_RDONLY {
						continue
					}
					if _, errno := fsys.OpenFile(name, flag, 0); errno != sys.EACCES {
						t.Errorf("%s: %v", name, errno)
					}
				}
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("an open waits")
		}
		closeRoot()
	}
	m := vfs.New(nil)
	stats, err := m.ImportDir("/", dir)
	must(t, err)
	if stats.Files != 1 || stats.Skipped != len(names)-1 {
		t.Fatalf("%+v", stats)
	}
}

func TestHostSwapRace(t *testing.T) {
	// A FIFO and a link out take the place of a file while it is being opened.
	fsys, top := escapeFS(t, true)
	dir := filepath.Join(top, "shared")
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	stop, swapped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			tmp := filepath.Join(dir, "tmp")
			switch i % 3 {
			case 0:
				os.WriteFile(tmp, []byte("in"), 0o644)
			case 1:
				os.Symlink("../secret", tmp)
			case 2:
				os.Link(filepath.Join(dir, "fifo"), tmp)
			}
			os.Rename(tmp, filepath.Join(dir, "x"))
			os.Remove(tmp)
		}
	}()
	deadline := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(deadline) {
		f, errno := fsys.OpenFile("x", sys.O_RDONLY, 0)
		if errno != 0 {
			continue
		}
		buf := make([]byte, 10)
		if n, errno := f.Read(buf); errno != 0 || n > 0 && string(buf[:n]) != "in" {
			t.Errorf("read %q, %v", buf[:n], errno)
		}
		f.Close()
	}
	close(stop)
	<-swapped
}

// A directory that is renamed to itself by way of a link must survive: an empty target is removed first.
func TestHostRenameToItself(t *testing.T) {
	fsys, closeRoot, err := vfs.OpenHost(t.TempDir(), true)
	must(t, err)
	defer closeRoot()
	mustErrno(t, fsys.Mkdir("d", 0o755), 0)
	mustErrno(t, fsys.Mkdir("d/sub", 0o755), 0)
	if errno := fsys.Symlink("d", "l"); errno != 0 {
		t.Skip(errno)
	}
	mustErrno(t, fsys.Rename("d/sub", "l/sub"), 0)
	if errno := fsys.Rename("d", "l/sub"); errno == 0 {
		t.Fatal("moved into itself")
	}
	_, errno := fsys.Stat("d/sub")
	mustErrno(t, errno, 0)
}
