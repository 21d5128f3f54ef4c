package vfstest

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/tetratelabs/wazero/experimental/sys"
)

var dirTests = []test{
	{"mkdir and rmdir", 0, func(x *fixture) {
		x.mkdir("d", "d/e")
		x.is(x.FS.Mkdir("d", 0o755), sys.EEXIST)
		x.is(x.FS.Mkdir(".", 0o755), sys.EEXIST)
		x.is(x.FS.Mkdir("no/e", 0o755), sys.ENOENT)
		x.isType("d", fs.ModeDir)
		x.is(x.FS.Rmdir("d"), sys.ENOTEMPTY)
		x.is(x.FS.Unlink("d"), sys.EISDIR)
		x.ok(x.FS.Rmdir("d/e"))
		x.ok(x.FS.Rmdir("d"))
		x.is(x.FS.Rmdir("d"), sys.ENOENT)
		x.write("f", "")
		x.is(x.FS.Rmdir("f"), sys.ENOTDIR)
		x.is(x.FS.Mkdir("f", 0o755), sys.EEXIST)
	}},
	{"the root stays", 0, func(x *fixture) {
		if x.FS.Rmdir(".") == 0 || x.FS.Unlink(".") == 0 || x.FS.Rename(".", "a") == 0 {
			x.Fatal("the root was removed or renamed")
		}
		x.lists(".")
	}},
	{"listing", 0, func(x *fixture) {
		x.lists(".")
		x.mkdir("d")
		x.write("f", "")
		x.lists(".", "d", "f")
		f := x.open(".", rd)
		entries, errno := f.Readdir(-1)
		x.ok(errno)
		x.equal(len(entries), 2)
		for _, e := range entries {
			st := x.stat(e.Name)
			x.equal(e.Type, st.Mode.Type())
			if e.Ino != 0 {
				x.equal(e.Ino, st.Ino)
			}
		}
		entries, errno = f.Readdir(-1)
		x.ok(errno)
		x.equal(len(entries), 0)
		x.rewind(f)
		x.equal(len(x.readdir(f, 1)), 2)
		x.rewind(f)
		x.write("g", "")
		x.equal(len(x.readdir(f, 0)), 3)
		_, errno = x.open("f", rd).Readdir(1)
		x.oneOf(errno, sys.ENOTDIR, sys.EBADF)
	}},
	{"many entries", 0, func(x *fixture) {
		var want []string
		for i := range 500 {
			want = append(want, fmt.Sprintf("f%04d", i))
			x.write(want[i], "")
		}
		for _, batch := range []int{1, 7, 100, 0} {
			if got := x.readdir(x.open(".", rd), batch); !slices.Equal(got, want) {
				x.Fatalf("batch %d: got %d names", batch, len(got))
			}
		}
	}},
	{"removing while reading", 0, func(x *fixture) { // shutil.rmtree
		for i := range 300 {
			x.write(fmt.Sprintf("f%04d", i), "")
		}
		f := x.open(".", rd)
		removed := 0
		for {
			entries, errno := f.Readdir(10)
			x.ok(errno)
			for _, e := range entries {
				x.ok(x.FS.Unlink(e.Name))
				removed++
			}
			if len(entries) < 10 {
				break
			}
		}
		x.equal(removed, 300)
		x.lists(".")
	}},
	{"changing while reading", StrictReaddir, func(x *fixture) {
		const n = 1000
		for i := range n {
			x.write(fmt.Sprintf("f%04d", i), "")
		}
		f := x.open(".", rd)
		seen := map[string]int{}
		for step := 0; ; step++ {
			entries, errno := f.Readdir(10)
			x.ok(errno)
			for _, e := range entries {
				seen[e.Name]++
			}
			if len(entries) < 10 {
				break
			}
			// Add names, rename one that was seen, remove one that was not.
			x.write(fmt.Sprintf("new%04d", step), "")
			x.ok(x.FS.Rename(entries[0].Name, "moved-"+entries[0].Name))
			if last := fmt.Sprintf("f%04d", n-1-step); seen[last] == 0 {
				x.ok(x.FS.Unlink(last))
				seen[last] = -1 << 20
			}
		}
		for i := range n {
			name := fmt.Sprintf("f%04d", i)
			if c := seen[name]; c != 1 && c != -1<<20 {
				x.Errorf("%s was returned %d times", name, c)
			}
		}
	}},
	{"removed while open", 0, func(x *fixture) {
		x.mkdir("d")
		f := x.open("d", rd)
		x.ok(x.FS.Rmdir("d"))
		entries, errno := f.Readdir(-1)
		x.oneOf(errno, 0, sys.ENOENT)
		x.equal(len(entries), 0)
		x.openErr("d/x", wr|creat, sys.ENOENT)
	}},
	{"deep", 0, func(x *fixture) {
		p := "d"
		for range 60 {
			x.mkdir(p)
			p += "/d"
		}
		x.write(p, "deep")
		x.content(p, "deep")
	}},
	{"seek", 0, func(x *fixture) {
		f := x.open(".", rd)
		if _, errno := f.Seek(5, 0); errno == 0 {
			x.Fatal("seeking in a directory")
		}
		x.rewind(f)
	}},
}

var renameTests = []test{
	{"file", 0, func(x *fixture) {
		x.write("a", "a")
		ino := x.stat("a").Ino
		x.mkdir("d")
		x.ok(x.FS.Rename("a", "d/b"))
		x.gone("a")
		x.content("d/b", "a")
		x.equal(x.stat("d/b").Ino, ino)
		x.is(x.FS.Rename("a", "c"), sys.ENOENT)
		x.is(x.FS.Rename("d/b", "no/b"), sys.ENOENT)
		x.content("d/b", "a")
	}},
	{"over a file", 0, func(x *fixture) { // os.replace
		x.write("a", "new")
		x.write("b", "old")
		old := x.open("b", rd)
		x.ok(x.FS.Rename("a", "b"))
		x.content("b", "new")
		x.equal(x.rest(old), "old")
		x.lists(".", "b")
	}},
	{"while open", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.put(f, "1")
		x.ok(x.FS.Rename("a", "b"))
		x.put(f, "2")
		x.content("b", "12")
	}},
	{"to itself", 0, func(x *fixture) {
		x.write("a", "a")
		x.mkdir("d")
		x.ok(x.FS.Rename("a", "a"))
		x.ok(x.FS.Rename("d", "d"))
		x.content("a", "a")
		x.lists(".", "a", "d")
	}},
	{"directory", 0, func(x *fixture) {
		x.mkdir("d", "d/e", "t")
		x.write("d/e/f", "f")
		x.ok(x.FS.Rename("d", "t/d2"))
		x.content("t/d2/e/f", "f")
		x.gone("d")
		x.equal(x.stat("t/d2/..").Ino, x.stat("t").Ino)
	}},
	{"directory over a directory", 0, func(x *fixture) {
		x.mkdir("d", "empty", "full", "full/x")
		x.write("d/f", "f")
		x.is(x.FS.Rename("d", "full"), sys.ENOTEMPTY)
		x.ok(x.FS.Rename("d", "empty"))
		x.content("empty/f", "f")
		x.lists(".", "empty", "full")
	}},
	{"kinds differ", 0, func(x *fixture) {
		x.mkdir("d", "e")
		x.write("f", "f")
		x.is(x.FS.Rename("f", "d"), sys.EISDIR)
		x.is(x.FS.Rename("d", "f"), sys.ENOTDIR)
		x.is(x.FS.Rename("f", "f/g"), sys.ENOTDIR)
		x.lists(".", "d", "e", "f")
	}},
	{"into itself", 0, func(x *fixture) {
		x.mkdir("d", "d/e", "dx")
		x.is(x.FS.Rename("d", "d/e/f"), sys.EINVAL)
		x.is(x.FS.Rename("d", "d/x"), sys.EINVAL)
		x.ok(x.FS.Rename("d", "dx/d"))
	}},
	{"over an ancestor", 0, func(x *fixture) {
		x.mkdir("d", "d/e")
		x.is(x.FS.Rename("d/e", "d"), sys.ENOTEMPTY)
	}},
	{"link itself", Symlinks, func(x *fixture) {
		x.write("a", "a")
		x.ok(x.FS.Symlink("a", "l"))
		x.ok(x.FS.Rename("l", "m"))
		x.isType("m", fs.ModeSymlink)
		x.write("b", "b")
		x.ok(x.FS.Rename("b", "m"))
		x.isType("m", 0)
		x.content("a", "a")
	}},
	{"two names of one file", HardLinks, func(x *fixture) {
		x.write("a", "a")
		x.ok(x.FS.Link("a", "b"))
		x.ok(x.FS.Rename("a", "b"))
		x.content("b", "a")
		x.lists(".", "a", "b") // POSIX: both stay
	}},
}
