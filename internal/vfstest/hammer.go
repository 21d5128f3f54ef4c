package vfstest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// hammer uses one file system from several goroutines: in a shared directory,
// where calls may fail but nothing may break, and in one of each goroutine's
// own, where all must succeed. Run it with -race.
func hammer(t *testing.T, fsys sys.FS) {
	x := &fixture{t, fsys}
	x.mkdir("shared")
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	shared := x.open("shared/file", rdwr|creat)
	var wg sync.WaitGroup
	for g := range 4 {
		dir := fmt.Sprintf("own%d", g)
		x.mkdir(dir)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range rounds {
				if msg := hammerOwn(fsys, dir, i); msg != "" {
					t.Errorf("goroutine %d: %s", g, msg)
					return
				}
				hammerShared(fsys, shared, r)
			}
		})
	}
	wg.Wait()
	for g := range 4 {
		x.lists(fmt.Sprintf("own%d", g), "kept")
	}
}

func hammerOwn(fsys sys.FS, dir string, i int) string {
	name, want := dir+"/tmp", fmt.Sprintf("round %d", i)
	f, errno := fsys.OpenFile(name, rdwr|creat|excl, 0o644)
	if errno != 0 {
		return fmt.Sprintf("open: %v", errno)
	}
	defer f.Close()
	if _, errno = f.Write([]byte(want)); errno != 0 {
		return fmt.Sprintf("write: %v", errno)
	}
	if errno = fsys.Rename(name, dir+"/kept"); errno != 0 {
		return fmt.Sprintf("rename: %v", errno)
	}
	buf := make([]byte, 100)
	n, errno := f.Pread(buf, 0)
	if errno != 0 || string(buf[:n]) != want {
		return fmt.Sprintf("read: %v, %q", errno, buf[:n])
	}
	return ""
}

func hammerShared(fsys sys.FS, shared sys.File, r *rand.Rand) {
	name := func() string { return fmt.Sprintf("shared/%d", r.IntN(8)) }
	switch r.IntN(9) {
	case 0, 1:
		if f, errno := fsys.OpenFile(name(), rdwr|creat, 0o644); errno == 0 {
			f.Write(make([]byte, r.IntN(5000)))
			f.Close()
		}
	case 2:
		fsys.Unlink(name())
	case 3:
		fsys.Mkdir(name(), 0o755)
	case 4:
		fsys.Rmdir(name())
	case 5:
		fsys.Rename(name(), name())
	case 6:
		if d, errno := fsys.OpenFile("shared", rd, 0); errno == 0 {
			d.Readdir(3)
			d.Readdir(-1)
			d.Close()
		}
	case 7:
		shared.Pwrite(make([]byte, 100), int64(r.IntN(100_000)))
		shared.Pread(make([]byte, 100), int64(r.IntN(100_000)))
	case 8:
		fsys.Stat(name())
		shared.Truncate(int64(r.IntN(100_000)))
		shared.Write([]byte("x"))
		shared.Seek(0, 0)
	}
}
