package vfstest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// enospc is the extension value that the project's file systems share for "no
// space left"; see hostfns/vfs.
const enospc = sys.Errno(0x100)

func quotaTests(t *testing.T, impl Impl) {
	if impl.Limited == nil {
		t.Skip("the implementation has no quotas")
	}
	const mib = 1 << 20
	t.Run("bytes", func(t *testing.T) {
		x := &fixture{t, impl.Limited(t, mib, 100)}
		f := x.open("a", rdwr|creat)
		total := 0
		for {
			n, errno := f.Write(make([]byte, 10_000))
			total += n
			if errno != 0 {
				x.is(errno, enospc)
				break
			}
			if total > mib {
				x.Fatalf("wrote %d bytes with a quota of %d", total, mib)
			}
		}
		if total < mib*9/10 {
			x.Fatalf("only %d bytes fit into %d", total, mib)
		}
		x.equal(x.fstat(f).Size, int64(total))
		// What is there can be overwritten, cut and removed, and room comes back.
		x.putAt(f, "over", 100)
		x.ok(f.Truncate(0))
		x.put(f, strings.Repeat("x", mib/4))
		x.ok(x.FS.Unlink("a"))
		x.ok(f.Close())
		x.write("b", strings.Repeat("x", mib*3/4))
	})
	t.Run("unlinked while open counts", func(t *testing.T) {
		x := &fixture{t, impl.Limited(t, mib, 100)}
		f := x.open("a", rdwr|creat)
		x.put(f, strings.Repeat("x", mib*3/4))
		x.ok(x.FS.Unlink("a"))
		g := x.open("b", rdwr|creat)
		n, errno := g.Write(make([]byte, mib*3/4))
		if errno == 0 && n == mib*3/4 {
			x.Fatal("the data of an open file was not counted")
		}
		x.ok(f.Close())
		x.ok(g.Truncate(0))
		x.putAt(g, strings.Repeat("x", mib*3/4), 0)
	})
	t.Run("holes are free", func(t *testing.T) {
		x := &fixture{t, impl.Limited(t, mib, 100)}
		f := x.open("a", rdwr|creat)
		x.ok(f.Truncate(1 << 30))
		x.putAt(f, "x", 1<<29)
		x.equal(x.fstat(f).Size, int64(1<<30))
		x.write("b", strings.Repeat("x", mib/2))
		// Many far bytes are not.
		var errno sys.Errno
		for i := 0; errno == 0 && i < 10_000; i++ {
			_, errno = f.Pwrite([]byte("x"), int64(i)<<20)
		}
		x.is(errno, enospc)
	})
	t.Run("files", func(t *testing.T) {
		x := &fixture{t, impl.Limited(t, mib, 10)}
		for i := range 10 {
			x.write(fmt.Sprintf("f%d", i), "")
		}
		x.openErr("f10", wr|creat, enospc)
		x.is(x.FS.Mkdir("d", 0o755), enospc)
		if impl.Lacks&Symlinks == 0 {
			x.is(x.FS.Symlink("f0", "l"), enospc)
		}
		if impl.Lacks&HardLinks == 0 {
			x.is(x.FS.Link("f0", "l"), enospc)
		}
		x.write("f0", "still writable")
		x.ok(x.FS.Rename("f0", "g"))
		x.ok(x.FS.Rename("g", "f1"))
		x.mkdir("d")
		x.ok(x.FS.Rmdir("d"))
		x.write("h", "")
	})
	t.Run("a failed create leaves nothing", func(t *testing.T) {
		x := &fixture{t, impl.Limited(t, mib, 1)}
		x.write("a", "")
		for range 20 {
			x.openErr("b", wr|creat, enospc)
		}
		x.gone("b")
		x.ok(x.FS.Unlink("a"))
		x.write("b", "")
	})
}

func reopenTests(t *testing.T, impl Impl) {
	if impl.Reopen == nil {
		t.Skip("the implementation does not persist")
	}
	x := &fixture{t, impl.New(t)}
	x.mkdir("d", "d/e")
	big := strings.Repeat("0123456789", 100_000)
	x.write("d/big", big)
	f := x.open("d/sparse", rdwr|creat)
	x.putAt(f, "end", 1<<22)
	x.ok(f.Close())
	x.write("gone", "x")
	x.ok(x.FS.Unlink("gone"))
	x.ok(x.FS.Rename("d/e", "e"))
	if impl.Lacks&Symlinks == 0 {
		x.ok(x.FS.Symlink("d/big", "l"))
	}
	if impl.Lacks&HardLinks == 0 {
		x.ok(x.FS.Link("d/big", "hard"))
	}
	x.ok(x.FS.Utimens("d/big", 1e9, 2e9))
	orphan := x.open("orphan", rdwr|creat)
	x.put(orphan, "x")
	x.ok(x.FS.Unlink("orphan"))
	before := x.stat("d/big")
	x.FS = impl.Reopen(t, x.FS)
	x.content("d/big", big)
	x.equal(x.stat("d/big"), before)
	x.equal(x.stat("d/sparse").Size, int64(1<<22+3))
	x.gone("gone")
	x.gone("orphan")
	x.gone("d/e")
	x.lists("e")
	if impl.Lacks&Symlinks == 0 {
		x.content("l", big)
	}
	x.write("new", "after")
	if x.stat("new").Ino == before.Ino {
		x.Fatal("an inode number was used twice")
	}
}
