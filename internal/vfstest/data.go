package vfstest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

var dataTests = []test{
	{"offsets", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.put(f, "0123456789")
		x.seek(f, 2, io.SeekStart, 2)
		x.put(f, "ab")
		x.seek(f, 0, io.SeekCurrent, 4)
		x.seek(f, -1, io.SeekEnd, 9)
		x.equal(x.rest(f), "9")
		x.seek(f, -8, io.SeekCurrent, 2)
		x.equal(x.rest(f), "ab456789")
		_, errno := f.Seek(-1, io.SeekStart)
		x.is(errno, sys.EINVAL)
		_, errno = f.Seek(-11, io.SeekEnd)
		x.is(errno, sys.EINVAL)
		_, errno = f.Seek(0, 9)
		x.is(errno, sys.EINVAL)
		x.seek(f, 0, io.SeekCurrent, 10)
	}},
	{"positioned", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.put(f, "0123456789")
		x.putAt(f, "XY", 4)
		x.seek(f, 0, io.SeekCurrent, 10)
		x.equal(x.at(f, 3, 4), "3XY6")
		x.equal(x.at(f, 8, 10), "89")
		x.equal(x.at(f, 10, 1), "")
		x.equal(x.at(f, 1<<40, 1), "")
		_, errno := f.Pread(make([]byte, 1), -1)
		x.is(errno, sys.EINVAL)
		_, errno = f.Pwrite([]byte("x"), -1)
		x.is(errno, sys.EINVAL)
	}},
	{"empty reads and writes", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.put(f, "")
		x.equal(x.rest(f), "")
		n, errno := f.Read(nil)
		x.ok(errno)
		x.equal(n, 0)
		x.equal(x.fstat(f).Size, int64(0))
	}},
	{"hole", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.put(f, "start")
		x.seek(f, 200_000, io.SeekStart, 200_000)
		x.equal(x.fstat(f).Size, int64(5))
		x.put(f, "end")
		x.equal(x.fstat(f).Size, int64(200_003))
		x.content("a", "start"+strings.Repeat("\x00", 199_995)+"end")
	}},
	{"huge hole", SparseHuge, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.putAt(f, "x", 1<<40)
		x.equal(x.fstat(f).Size, int64(1<<40+1))
		x.equal(x.at(f, 1<<40-1, 4), "\x00x")
		x.equal(x.at(f, 1<<39, 3), "\x00\x00\x00")
		x.ok(f.Truncate(0))
	}},
	{"truncate", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.put(f, "0123456789")
		x.ok(f.Truncate(4))
		x.content("a", "0123")
		x.ok(f.Truncate(6))
		x.content("a", "0123\x00\x00")
		x.seek(f, 0, io.SeekCurrent, 10)
		x.put(f, "!")
		x.content("a", "0123\x00\x00\x00\x00\x00\x00!")
		x.is(f.Truncate(-1), sys.EINVAL)
	}},
	{"truncate across blocks", 0, func(x *fixture) {
		full := strings.Repeat("0123456789abcdef", 20_000) // 320,000 bytes
		f := x.open("a", rdwr|creat)
		x.put(f, full)
		for _, size := range []int{300_000, 262_144, 131_073, 65_536, 65_535, 1, 0} {
			x.ok(f.Truncate(int64(size)))
			x.ok(f.Truncate(400_000))
			x.content("a", full[:size]+strings.Repeat("\x00", 400_000-size))
		}
	}},
	{"append", AppendPwrite, func(x *fixture) {
		x.write("a", "one")
		f := x.open("a", rdwr|appnd)
		x.equal(f.IsAppend(), true)
		x.put(f, "two")
		x.rewind(f)
		x.put(f, "three")
		x.content("a", "onetwothree")
		x.putAt(f, "ONE", 0)
		x.content("a", "ONEtwothree")
	}},
	{"append from two files", 0, func(x *fixture) {
		a, b := x.open("a", wr|creat|appnd), x.open("a", wr|creat|appnd)
		for range 5 {
			x.put(a, "a")
			x.put(b, "b")
		}
		x.content("a", "ababababab")
	}},
	{"append switched", 0, func(x *fixture) {
		x.write("a", "0123")
		f := x.open("a", rdwr)
		x.equal(f.IsAppend(), false)
		x.ok(f.SetAppend(true))
		x.put(f, "45")
		x.ok(f.SetAppend(false))
		x.rewind(f)
		x.put(f, "X")
		x.content("a", "X12345")
	}},
	{"two open files share the data", 0, func(x *fixture) {
		a, b := x.open("a", rdwr|creat), x.open("a", rdwr)
		x.put(a, "hello")
		x.equal(x.rest(b), "hello")
		x.putAt(b, "J", 0)
		x.equal(x.at(a, 0, 5), "Jello")
		x.ok(b.Truncate(1))
		x.equal(x.fstat(a).Size, int64(1))
	}},
	{"unlink while open", 0, func(x *fixture) {
		f := x.open("a", rdwr|creat)
		x.put(f, "data")
		x.ok(x.FS.Unlink("a"))
		x.gone("a")
		x.lists(".")
		x.write("a", "other")
		x.equal(x.at(f, 0, 10), "data")
		x.put(f, "more")
		x.rewind(f)
		x.equal(x.rest(f), "datamore")
		x.ok(f.Truncate(2))
		st := x.fstat(f)
		x.equal(st.Size, int64(2))
		x.equal(st.Nlink, uint64(0))
		x.content("a", "other")
		x.ok(f.Sync())
		x.ok(f.Datasync())
	}},
	{"big file in odd pieces", 0, func(x *fixture) {
		r := rand.New(rand.NewPCG(1, 2))
		want := make([]byte, 1_000_003)
		for i := range want {
			want[i] = byte(r.Uint32())
		}
		f := x.open("a", rdwr|creat)
		for at := 0; at < len(want); {
			n := min(1+r.IntN(100_000), len(want)-at)
			x.put(f, string(want[at:at+n]))
			at += n
		}
		for range 50 {
			at, n := r.IntN(len(want)), r.IntN(200_000)
			end := min(at+n, len(want))
			if got := x.at(f, int64(at), n); got != string(want[at:end]) {
				x.Fatalf("wrong bytes at %d+%d", at, n)
			}
		}
		x.rewind(f)
		if got := x.rest(f); !bytes.Equal([]byte(got), want) {
			x.Fatal("wrong content")
		}
	}},
	{"random writes against a buffer", 0, func(x *fixture) {
		r := rand.New(rand.NewPCG(3, 4))
		f := x.open("a", rdwr|creat)
		var want []byte
		for range 300 {
			if r.IntN(6) == 0 {
				size := r.IntN(300_000)
				x.ok(f.Truncate(int64(size)))
				want = resize(want, size)
				continue
			}
			off, data := r.IntN(250_000), bytes.Repeat([]byte{byte(r.Uint32())}, 1+r.IntN(70_000))
			x.putAt(f, string(data), int64(off))
			want = resize(want, max(len(want), off+len(data)))
			copy(want[off:], data)
		}
		x.content("a", string(want))
	}},
}

func resize(b []byte, n int) []byte {
	if n <= len(b) {
		return b[:n:n]
	}
	return append(b, make([]byte, n-len(b))...)
}
