package vfstest

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// programTests replay what well-known libraries do.
var programTests = []test{
	{"sqlite rollback journal", 0, func(x *fixture) {
		const page = 4096
		db := x.open("db", rdwr|creat)
		pages := func(b byte) string { return strings.Repeat(string(b), page) }
		for i := range 8 {
			x.putAt(db, pages('a'+byte(i)), int64(i*page))
		}
		x.ok(db.Sync())
		// A transaction: save old pages in the journal, change, sync, delete.
		commit := func(finish bool) {
			_, errno := x.FS.Stat("db-journal")
			x.is(errno, sys.ENOENT)
			j := x.open("db-journal", rdwr|creat|excl|nofoll)
			x.putAt(j, "header", 0)
			x.putAt(j, x.at(db, 2*page, page), 512)
			x.putAt(j, x.at(db, 7*page, page), 512+page+8)
			x.ok(j.Sync())
			dir := x.open(".", rd)
			x.ok(dir.Sync())
			x.ok(dir.Close())
			x.putAt(db, pages('X'), 2*page)
			x.ok(db.Truncate(7 * page))
			x.ok(db.Sync())
			if !finish { // roll back
				x.putAt(db, x.at(j, 512, page), 2*page)
				x.putAt(db, x.at(j, 512+page+8, page), 7*page)
				x.ok(db.Sync())
			}
			x.ok(j.Truncate(0))
			x.ok(j.Close())
			x.ok(x.FS.Unlink("db-journal"))
		}
		commit(false)
		x.equal(x.fstat(db).Size, int64(8*page))
		x.equal(x.at(db, 2*page, page), pages('c'))
		commit(true)
		x.equal(x.fstat(db).Size, int64(7*page))
		x.equal(x.at(db, 2*page, page), pages('X'))
		x.lists(".", "db")
	}},
	{"tempfile", 0, func(x *fixture) {
		x.mkdir("tmp")
		// NamedTemporaryFile: exclusive until a name is free.
		x.write("tmp/tmp0", "taken")
		x.openErr("tmp/tmp0", rdwr|creat|excl|nofoll, sys.EEXIST)
		f := x.open("tmp/tmp1", rdwr|creat|excl|nofoll)
		// TemporaryFile: unlink at once and go on.
		x.ok(x.FS.Unlink("tmp/tmp1"))
		x.put(f, "secret")
		x.rewind(f)
		x.equal(x.rest(f), "secret")
		// mkdtemp and cleanup.
		x.ok(x.FS.Mkdir("tmp/dir", 0o700))
		x.is(x.FS.Mkdir("tmp/dir", 0o700), sys.EEXIST)
		x.write("tmp/dir/f", "")
		x.rmtree("tmp")
		x.lists(".")
	}},
	{"pathlib write_text and replace", 0, func(x *fixture) {
		x.mkdir("p", "p/q")
		x.write("p/q/a.txt.tmp", "v1")
		x.ok(x.FS.Rename("p/q/a.txt.tmp", "p/q/a.txt"))
		x.write("p/q/a.txt.tmp", "v2")
		x.ok(x.FS.Rename("p/q/a.txt.tmp", "p/q/a.txt"))
		x.content("p/q/a.txt", "v2")
		x.lists("p/q", "a.txt")
		x.is(x.FS.Mkdir("p/q", 0o777), sys.EEXIST) // exist_ok
	}},
	{"shutil copytree and move", 0, func(x *fixture) {
		x.mkdir("src", "src/sub", "src/sub/deep")
		for i := range 20 {
			x.write(fmt.Sprintf("src/sub/f%d", i), strings.Repeat("x", i*100))
		}
		x.write("src/sub/deep/g", "g")
		x.copytree("src", "dst")
		x.ok(x.FS.Rename("dst", "moved"))
		x.equal(strings.Join(x.names("moved/sub"), " "), strings.Join(x.names("src/sub"), " "))
		x.content("moved/sub/deep/g", "g")
		x.equal(x.stat("moved/sub/f7").Mtim/1e9, x.stat("src/sub/f7").Mtim/1e9)
		x.rmtree("src")
		x.content("moved/sub/f3", strings.Repeat("x", 300))
	}},
	{"zipfile", 0, func(x *fixture) {
		f := x.open("z.zip", rdwr|creat|trunc)
		var offsets []int64
		for i := range 10 { // local headers are patched afterwards
			at, errno := f.Seek(0, io.SeekCurrent)
			x.ok(errno)
			offsets = append(offsets, at)
			x.put(f, "PK\x03\x04????")
			body := strings.Repeat(string(rune('a'+i)), 1000*i)
			x.put(f, body)
			end, errno := f.Seek(0, io.SeekCurrent)
			x.ok(errno)
			x.seek(f, at+4, io.SeekStart, at+4)
			x.put(f, fmt.Sprintf("%04d", len(body)))
			x.seek(f, end, io.SeekStart, end)
		}
		x.put(f, "PK\x05\x06")
		// Appending reads the tail, cuts it off and writes on.
		x.seek(f, -4, io.SeekEnd, x.fstat(f).Size-4)
		x.equal(x.rest(f), "PK\x05\x06")
		x.ok(f.Truncate(x.fstat(f).Size - 4))
		x.seek(f, 0, io.SeekEnd, x.fstat(f).Size)
		x.put(f, "PK\x01\x02PK\x05\x06")
		for i, at := range offsets {
			x.equal(x.at(f, at, 8), fmt.Sprintf("PK\x03\x04%04d", 1000*i))
		}
	}},
	{"log rotation", 0, func(x *fixture) {
		f := x.open("log", wr|creat|appnd)
		x.put(f, "one\n")
		x.ok(x.FS.Rename("log", "log.1"))
		g := x.open("log", wr|creat|appnd)
		x.put(f, "late\n")
		x.put(g, "two\n")
		x.content("log.1", "one\nlate\n")
		x.content("log", "two\n")
	}},
	{"lock file", 0, func(x *fixture) {
		for range 3 {
			f := x.open("lock", wr|creat|excl)
			x.openErr("lock", wr|creat|excl, sys.EEXIST)
			x.ok(f.Close())
			x.ok(x.FS.Unlink("lock"))
		}
	}},
	{"mmap-like read of all", 0, func(x *fixture) {
		want := bytes.Repeat([]byte("0123456789"), 50_000)
		x.write("a", string(want))
		f := x.open("a", rd)
		buf := make([]byte, len(want)+10)
		n, errno := f.Read(buf)
		x.ok(errno)
		x.equal(n, len(want))
		n, errno = f.Read(buf)
		x.ok(errno)
		x.equal(n, 0)
	}},
}

// limitTests hold for every implementation, whatever its quotas are.
var limitTests = []test{
	{"absurd sizes", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.put(f, "keep")
		if _, errno := f.Pwrite([]byte("x"), 1<<62); errno == 0 {
			x.Fatal("wrote a byte at 4 EiB")
		}
		if f.Truncate(1<<62) == 0 {
			x.Fatal("truncated to 4 EiB")
		}
		x.content("a", "keep")
	}},
}

func (x *fixture) rmtree(dir string) {
	x.Helper()
	f := x.open(dir, rd|dirf)
	for {
		entries, errno := f.Readdir(5)
		x.ok(errno)
		for _, e := range entries {
			if p := path.Join(dir, e.Name); e.IsDir() {
				x.rmtree(p)
			} else {
				x.ok(x.FS.Unlink(p))
			}
		}
		if len(entries) < 5 {
			break
		}
	}
	x.ok(f.Close())
	x.ok(x.FS.Rmdir(dir))
}

func (x *fixture) copytree(from, to string) {
	x.Helper()
	x.mkdir(to)
	f := x.open(from, rd|dirf)
	entries, errno := f.Readdir(-1)
	x.ok(errno)
	for _, e := range entries {
		src, dst := path.Join(from, e.Name), path.Join(to, e.Name)
		if e.IsDir() {
			x.copytree(src, dst)
			continue
		}
		in := x.open(src, rd)
		x.write(dst, x.rest(in))
		st := x.fstat(in)
		x.ok(x.FS.Utimens(dst, st.Atim, st.Mtim))
		x.ok(in.Close())
	}
}
