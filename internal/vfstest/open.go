package vfstest

import (
	"io/fs"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

var openTests = []test{
	{"create write read", 0, func(x *fixture) {
		x.write("a", "hello")
		x.content("a", "hello")
		x.equal(x.stat("a").Size, int64(5))
		x.isType("a", 0)
	}},
	{"missing", 0, func(x *fixture) {
		x.openErr("a", rd, sys.ENOENT)
		x.openErr("a", rdwr, sys.ENOENT)
		x.openErr("a/b", rd|creat, sys.ENOENT)
		x.openErr("a/b", rdwr|creat, sys.ENOENT)
		x.statErr("a", sys.ENOENT)
		x.statErr("a/b/c", sys.ENOENT)
		x.statErr("", sys.ENOENT)
	}},
	{"file as directory", 0, func(x *fixture) {
		x.write("a", "")
		x.openErr("a/b", rd, sys.ENOTDIR)
		x.openErr("a/b", rdwr|creat, sys.ENOTDIR)
		x.statErr("a/b", sys.ENOTDIR)
		x.openErr("a", rd|dirf, sys.ENOTDIR)
		x.is(x.FS.Mkdir("a/b", 0o755), sys.ENOTDIR)
		x.is(x.FS.Unlink("a/b"), sys.ENOTDIR)
		x.is(x.FS.Rmdir("a/b"), sys.ENOTDIR)
	}},
	{"directory as file", 0, func(x *fixture) {
		x.mkdir("d")
		for _, flag := range []sys.Oflag{wr, rdwr, wr | creat, rdwr | creat | trunc} {
			x.openErr("d", flag, sys.EISDIR)
		}
		f := x.open("d", rd)
		_, errno := f.Read(make([]byte, 1))
		x.is(errno, sys.EISDIR)
		_, errno = f.Write([]byte("x"))
		x.oneOf(errno, sys.EISDIR, sys.EBADF)
		isDir, errno := f.IsDir()
		x.ok(errno)
		x.equal(isDir, true)
	}},
	{"exclusive", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat|excl)
		x.put(f, "1")
		x.openErr("a", rdwr|creat|excl, sys.EEXIST)
		x.mkdir("d")
		x.openErr("d", rdwr|creat|excl, sys.EEXIST)
		x.content("a", "1")
	}},
	{"exclusive does not follow", Symlinks, func(x *fixture) {
		x.ok(x.FS.Symlink("target", "l"))
		x.openErr("l", rdwr|creat|excl, sys.EEXIST)
		x.gone("target")
	}},
	{"truncate on open", 0, func(x *fixture) {
		x.write("a", "hello")
		x.open("a", wr|trunc)
		x.content("a", "")
		x.write("a", "hello")
		x.open("a", rdwr|creat)
		x.content("a", "hello")
	}},
	{"access modes are kept", 0, func(x *fixture) {
		x.write("a", "hello")
		r := x.open("a", rd)
		_, errno := r.Write([]byte("x"))
		x.is(errno, sys.EBADF)
		_, errno = r.Pwrite([]byte("x"), 0)
		x.is(errno, sys.EBADF)
		x.oneOf(r.Truncate(0), sys.EBADF, sys.EINVAL)
		w := x.open("a", wr)
		_, errno = w.Read(make([]byte, 1))
		x.is(errno, sys.EBADF)
		_, errno = w.Pread(make([]byte, 1), 0)
		x.is(errno, sys.EBADF)
		x.content("a", "hello")
	}},
	{"closed", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.ok(f.Close())
		_, errno := f.Read(make([]byte, 1))
		x.is(errno, sys.EBADF)
		_, errno = f.Write([]byte("x"))
		x.is(errno, sys.EBADF)
		_, errno = f.Stat()
		x.is(errno, sys.EBADF)
		_, errno = f.Seek(0, 0)
		x.is(errno, sys.EBADF)
		x.is(f.Truncate(0), sys.EBADF)
		x.ok(f.Close())
	}},
	{"nofollow", Symlinks, func(x *fixture) {
		x.write("a", "hello")
		x.ok(x.FS.Symlink("a", "l"))
		x.openErr("l", rd|nofoll, sys.ELOOP)
		x.open("a", rd|nofoll)
		x.open("l", rd)
	}},
	{"create through a dangling link", Symlinks, func(x *fixture) {
		x.mkdir("d")
		x.ok(x.FS.Symlink("d/target", "l"))
		x.openErr("l", rd, sys.ENOENT)
		x.put(x.open("l", wr|creat), "hi")
		x.content("d/target", "hi")
		x.isType("l", fs.ModeSymlink)
	}},
	{"names", 0, func(x *fixture) {
		for _, name := range []string{
			"with space", "ünïcødé-名前-🙂", "-dash", ".hidden", "a\\b", "tab\there", "new\nline",
			"star*?", strings.Repeat("n", 255), "a..b", "...", "..x",
		} {
			x.write(name, name)
			x.content(name, name)
			x.ok(x.FS.Unlink(name))
		}
		x.openErr(strings.Repeat("n", 256), wr|creat, sys.ENAMETOOLONG)
		x.statErr(strings.Repeat("n", 256), sys.ENAMETOOLONG)
		x.is(x.FS.Mkdir(strings.Repeat("é", 128), 0o755), sys.ENAMETOOLONG)
		x.statErr(strings.Repeat("n/", 2048)+"n", sys.ENAMETOOLONG)
		x.openErr("a\x00b", wr|creat, sys.EINVAL)
	}},
	{"case matters", 0, func(x *fixture) {
		x.write("a", "lower")
		x.write("A", "upper")
		x.content("a", "lower")
		x.lists(".", "A", "a")
	}},
	{"dot and dotdot", 0, func(x *fixture) {
		x.mkdir("d", "d/e")
		x.write("d/f", "f")
		x.content("d/../d/./f", "f")
		x.content("d/e/../f", "f")
		x.equal(x.stat(".").Mode.IsDir(), true)
		x.equal(x.stat("d/..").Ino, x.stat(".").Ino)
	}},
}
