package wasi

import (
	"io/fs"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

func TestAccess(t *testing.T) {
	for _, tt := range []struct {
		rights  uint64
		oflags  uint16
		fdflags uint16
		want    sys.Oflag
	}{
		{rightRead, 0, 0, sys.O_RDONLY},
		{rightReaddir, openCreat, 0, sys.O_RDONLY},
		{rightWrite, openCreat, 0, sys.O_WRONLY},
		{rightsAll, 0, 0, sys.O_RDWR},
		{0, 0, 0, sys.O_RDONLY},
		{0, openTrunc, 0, sys.O_RDWR},
		{0, 0, fdAppend, sys.O_RDWR},
	} {
		f := &file{flags: tt.fdflags}
		got := f.access(tt.rights, tt.oflags)
		if got != tt.want || f.read != (got != sys.O_WRONLY) || f.write != (got != sys.O_RDONLY) {
			t.Errorf("%+v: %v, read %v, write %v", tt, got, f.read, f.write)
		}
	}
	all := sys.O_CREAT | sys.O_EXCL | sys.O_TRUNC | sys.O_APPEND | sys.O_DSYNC | sys.O_NONBLOCK | sys.O_RSYNC | sys.O_SYNC
	if got := sysFlags(openCreat|openExcl|openTrunc, 31); got != all {
		t.Errorf("flags %v, want %v", got, all)
	}
}

func TestFileType(t *testing.T) {
	for mode, want := range map[fs.FileMode]uint8{
		0o644:                             typeRegular,
		fs.ModeDir | 0o755:                typeDirectory,
		fs.ModeSymlink:                    typeSymlink,
		fs.ModeDevice | fs.ModeCharDevice: typeCharacterDevice,
		fs.ModeDevice:                     typeBlockDevice,
		fs.ModeSocket:                     typeSocketStream,
		fs.ModeNamedPipe:                  typeUnknown,
		fs.ModeIrregular:                  typeUnknown,
	} {
		if got := fileType(mode); got != want {
			t.Errorf("%v: %d, want %d", mode, got, want)
		}
	}
}

// linkFS has one symbolic link whose times can be set.
type linkFS struct {
	*memFS
	atim, mtim int64
}

func (l *linkFS) Lutimens(_ string, atim, mtim int64) sys.Errno {
	l.atim, l.mtim = atim, mtim
	return 0
}

func TestLutimens(t *testing.T) {
	l := &linkFS{memFS: newMemFS()}
	l.nodes["soft"] = &memNode{mode: fs.ModeSymlink}
	g := newGuest(t, &Options{FS: l})
	p, n := g.path("soft")
	g.want(success, "path_filestat_set_times", rootFD, 0, p, n, 0, 5, 4)
	if l.atim != sys.UTIME_OMIT || l.mtim != 5 {
		t.Errorf("times %d, %d", l.atim, l.mtim)
	}
}

// What the file system says is what the guest gets.
func TestFileSystemErrors(t *testing.T) {
	for _, e := range []sys.Errno{ENOSPC, EXDEV, EBUSY, EMLINK, sys.EROFS, sys.ENOSYS} {
		g := newGuest(t, &Options{FS: failFS{e: e}})
		for _, name := range []string{"path_create_directory", "path_remove_directory", "path_unlink_file"} {
			if got := g.at(name, "x"); got != toErrno(e) {
				t.Errorf("%s: %d, want %d", name, got, toErrno(e))
			}
		}
		pa, na, pb, nb := g.at2("a", "b")
		g.want(toErrno(e), "path_rename", rootFD, pa, na, rootFD, pb, nb)
		g.want(toErrno(e), "path_link", rootFD, 0, pa, na, rootFD, pb, nb)
		g.want(toErrno(e), "path_symlink", pa, na, rootFD, pb, nb)
		if _, got := g.openAt(rootFD, "x", 0, readOnly, 0); got != toErrno(e) {
			t.Errorf("open: %d", got)
		}
		g.want(toErrno(e), "fd_readdir", rootFD, dataAt, 100, 0, resultAt)
	}
}

type failFS struct {
	sys.UnimplementedFS
	e sys.Errno
}

func (f failFS) OpenFile(string, sys.Oflag, fs.FileMode) (sys.File, sys.Errno) { return nil, f.e }
func (f failFS) Mkdir(string, fs.FileMode) sys.Errno                           { return f.e }
func (f failFS) Rmdir(string) sys.Errno                                        { return f.e }
func (f failFS) Unlink(string) sys.Errno                                       { return f.e }
func (f failFS) Rename(string, string) sys.Errno                               { return f.e }
func (f failFS) Link(string, string) sys.Errno                                 { return f.e }
func (f failFS) Symlink(string, string) sys.Errno                              { return f.e }
