package vfstest

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
)

var linkTests = []test{
	{"symlink", Symlinks, func(x *fixture) {
		x.mkdir("d", "d/e")
		x.write("d/f", "f")
		x.ok(x.FS.Symlink("d/f", "l"))
		x.ok(x.FS.Symlink("../f", "d/e/up"))
		x.ok(x.FS.Symlink("d", "dl"))
		x.content("l", "f")
		x.content("d/e/up", "f")
		x.content("dl/f", "f")
		x.content("dl/e/up", "f")
		x.write("dl/g", "g")
		x.content("d/g", "g")
		target, errno := x.FS.Readlink("d/e/up")
		x.ok(errno)
		x.equal(target, "../f")
		st, errno := x.FS.Lstat("d/e/up")
		x.ok(errno)
		x.equal(st.Size, int64(4))
		x.equal(x.stat("l").Ino, x.stat("d/f").Ino)
		x.isType("l", fs.ModeSymlink)
		x.lists("dl", "e", "f", "g")
	}},
	{"symlink errors", Symlinks, func(x *fixture) {
		x.write("f", "")
		x.mkdir("d")
		x.is(x.FS.Symlink("x", "f"), sys.EEXIST)
		x.is(x.FS.Symlink("x", "d"), sys.EEXIST)
		x.is(x.FS.Symlink("x", "no/l"), sys.ENOENT)
		x.is(x.FS.Symlink("", "l"), sys.ENOENT)
		_, errno := x.FS.Readlink("f")
		x.is(errno, sys.EINVAL)
		_, errno = x.FS.Readlink("no")
		x.is(errno, sys.ENOENT)
	}},
	{"dangling and removed", Symlinks, func(x *fixture) {
		x.mkdir("d")
		x.ok(x.FS.Symlink("no", "l"))
		x.ok(x.FS.Symlink("d", "dl"))
		x.statErr("l", sys.ENOENT)
		x.isType("l", fs.ModeSymlink)
		x.is(x.FS.Rmdir("dl"), sys.ENOTDIR)
		x.ok(x.FS.Unlink("l"))
		x.ok(x.FS.Unlink("dl"))
		x.lists(".", "d")
	}},
	{"loops", Symlinks, func(x *fixture) {
		x.ok(x.FS.Symlink("b", "a"))
		x.ok(x.FS.Symlink("a", "b"))
		x.ok(x.FS.Symlink("self/x", "self"))
		x.statErr("a", sys.ELOOP)
		x.statErr("self", sys.ELOOP)
		x.openErr("a", wr|creat, sys.ELOOP)
		x.openErr("a/x", rd, sys.ELOOP)
	}},
	{"chains", Symlinks, func(x *fixture) {
		x.write("l0", "end")
		for i := range 50 {
			x.ok(x.FS.Symlink(fmt.Sprintf("l%d", i), fmt.Sprintf("l%d", i+1)))
		}
		x.content("l7", "end") // systems stop between 8 and 255
		x.statErr("l50", sys.ELOOP)
	}},
	{"absolute symlink", AbsoluteSymlinks | Symlinks, func(x *fixture) {
		x.mkdir("d")
		x.write("d/f", "f")
		x.ok(x.FS.Symlink("/d/f", "l"))
		x.ok(x.FS.Symlink("/d", "d/again"))
		x.content("l", "f")
		x.content("d/again/again/f", "f")
		target, errno := x.FS.Readlink("l")
		x.ok(errno)
		x.equal(target, "/d/f")
	}},
	{"no way out by symlinks", AbsoluteSymlinks | Symlinks, func(x *fixture) {
		x.ok(x.FS.Symlink("../../../../etc/passwd", "up"))
		x.ok(x.FS.Symlink("/etc/passwd", "abs"))
		x.statErr("up", sys.ENOENT)
		x.statErr("abs", sys.ENOENT)
	}},
	{"hard link", HardLinks, func(x *fixture) {
		x.write("a", "one")
		x.mkdir("d")
		x.ok(x.FS.Link("a", "d/b"))
		x.equal(x.stat("a").Nlink, uint64(2))
		x.equal(x.stat("a").Ino, x.stat("d/b").Ino)
		x.write("d/b", "two")
		x.content("a", "two")
		x.ok(x.FS.Unlink("a"))
		x.content("d/b", "two")
		x.equal(x.stat("d/b").Nlink, uint64(1))
	}},
	{"hard link errors", HardLinks, func(x *fixture) {
		x.write("a", "")
		x.mkdir("d")
		x.is(x.FS.Link("a", "d"), sys.EEXIST)
		x.is(x.FS.Link("a", "a"), sys.EEXIST)
		x.is(x.FS.Link("no", "b"), sys.ENOENT)
		x.is(x.FS.Link("a", "no/b"), sys.ENOENT)
		x.oneOf(x.FS.Link("d", "e"), sys.EPERM, sys.EISDIR)
	}},
}

var metaTests = []test{
	{"inode numbers", 0, func(x *fixture) {
		x.mkdir("d")
		x.write("a", "")
		x.write("b", "")
		a, b, d := x.stat("a"), x.stat("b"), x.stat("d")
		if a.Ino == 0 || a.Ino == b.Ino || a.Ino == d.Ino || a.Dev != b.Dev {
			x.Fatalf("a %d:%d, b %d:%d, d %d:%d", a.Dev, a.Ino, b.Dev, b.Ino, d.Dev, d.Ino)
		}
		f := x.open("a", rdwr)
		x.put(f, "x")
		ino, errno := f.Ino()
		x.ok(errno)
		dev, errno := f.Dev()
		x.ok(errno)
		st := x.fstat(f)
		x.equal([4]uint64{ino, dev, st.Ino, st.Dev}, [4]uint64{a.Ino, a.Dev, a.Ino, a.Dev})
		x.equal(x.stat("a").Ino, a.Ino)
	}},
	{"link count of a directory", DirLinkCount, func(x *fixture) {
		x.mkdir("d", "d/a", "d/b", "e")
		x.write("d/f", "")
		x.equal(x.stat("d").Nlink, uint64(4))
		x.ok(x.FS.Rename("d/a", "e/a"))
		x.ok(x.FS.Rmdir("d/b"))
		x.equal(x.stat("d").Nlink, uint64(2))
		x.equal(x.stat("e").Nlink, uint64(3))
	}},
	{"utimens", ExactTimes, func(x *fixture) {
		x.write("a", "a")
		x.mkdir("d")
		for _, p := range []string{"a", "d", "."} {
			x.ok(x.FS.Utimens(p, 1_000_000_001, 2_000_000_002))
			st := x.stat(p)
			x.equal([2]int64{st.Atim, st.Mtim}, [2]int64{1_000_000_001, 2_000_000_002})
			x.ok(x.FS.Utimens(p, sys.UTIME_OMIT, 3_000_000_003))
			x.ok(x.FS.Utimens(p, 4_000_000_004, sys.UTIME_OMIT))
			st = x.stat(p)
			x.equal([2]int64{st.Atim, st.Mtim}, [2]int64{4_000_000_004, 3_000_000_003})
		}
		f := x.open("a", rdwr)
		x.ok(f.Utimens(5, 6))
		st := x.fstat(f)
		x.equal([2]int64{st.Atim, st.Mtim}, [2]int64{5, 6})
		x.ok(f.Utimens(sys.UTIME_OMIT, 7))
		x.equal(x.stat("a").Atim, int64(5))
		x.is(x.FS.Utimens("no", 1, 2), sys.ENOENT)
	}},
	{"writing sets the time", 0, func(x *fixture) {
		x.write("a", "a")
		x.mkdir("d")
		past := time.Now().Add(-time.Hour).UnixNano()
		x.ok(x.FS.Utimens("a", past, past))
		x.ok(x.FS.Utimens("d", past, past))
		x.open("a", rd)
		x.equal(x.stat("a").Mtim/1e9, past/1e9)
		x.put(x.open("a", wr), "b")
		x.write("d/f", "")
		for _, p := range []string{"a", "d"} {
			if age := time.Now().UnixNano() - x.stat(p).Mtim; age > int64(time.Minute) {
				x.Fatalf("%s was modified %v ago", p, time.Duration(age))
			}
		}
	}},
	{"chmod", Chmod, func(x *fixture) {
		x.write("a", "a")
		x.mkdir("d")
		x.equal(x.stat("a").Mode, fs.FileMode(0o644))
		x.ok(x.FS.Chmod("a", 0o755))
		x.equal(x.stat("a").Mode, fs.FileMode(0o755))
		x.ok(x.FS.Chmod("d", 0o700))
		x.equal(x.stat("d").Mode, fs.ModeDir|0o700)
		x.is(x.FS.Chmod("no", 0o755), sys.ENOENT)
	}},
	{"stat follows", Symlinks, func(x *fixture) {
		x.write("a", "abc")
		x.ok(x.FS.Symlink("a", "l"))
		x.equal(x.stat("l").Size, int64(3))
		x.ok(x.FS.Utimens("l", 1e9, 2e9))
		x.equal(x.stat("a").Mtim, int64(2e9))
	}},
	{"long path", 0, func(x *fixture) {
		part := strings.Repeat("p", 200)
		p := part
		for range 15 {
			x.mkdir(p)
			p += "/" + part
		}
		x.write(p, "far")
		x.content(p, "far")
	}},
}
