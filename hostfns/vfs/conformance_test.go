package vfs_test

import (
	"runtime"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
	"github.com/mayfly-run/mayfly/internal/vfstest"
)

func limited(_ *testing.T, maxBytes int64, maxFiles int) sys.FS {
	return vfs.New(&vfs.Options{MaxBytes: maxBytes, MaxFiles: maxFiles})
}

func TestMemoryConformance(t *testing.T) {
	vfstest.Run(t, vfstest.Impl{
		New:     func(*testing.T) sys.FS { return vfs.New(nil) },
		Limited: limited,
	})
}

// A clone must behave as what it was cloned from.
func TestCloneConformance(t *testing.T) {
	vfstest.Run(t, vfstest.Impl{
		New: func(*testing.T) sys.FS { return vfs.New(nil).Clone() },
		Limited: func(t *testing.T, b int64, f int) sys.FS {
			return limited(t, b, f).(*vfs.FS).Clone()
		},
		// Clone stands in for storing: the result must be the same but for what
		// is unlinked.
		Reopen: func(_ *testing.T, fsys sys.FS) sys.FS { return fsys.(*vfs.FS).Clone() },
	})
}

func TestTreeConformance(t *testing.T) {
	t.Run("root", func(t *testing.T) {
		vfstest.Run(t, vfstest.Impl{
			New:     func(*testing.T) sys.FS { return vfs.NewTree(vfs.New(nil)) },
			Limited: func(t *testing.T, b int64, f int) sys.FS { return vfs.NewTree(limited(t, b, f)) },
		})
	})
	t.Run("opaque", func(t *testing.T) { // every link is resolved by the tree
		vfstest.Run(t, vfstest.Impl{
			New: func(*testing.T) sys.FS { return vfs.NewTree(opaque{vfs.New(nil)}) },
		})
	})
	t.Run("mount", func(t *testing.T) {
		vfstest.Run(t, vfstest.Impl{
			New: func(t *testing.T) sys.FS {
				tree := vfs.NewTree(vfs.New(nil))
				mustMount(t, tree, "/workspace", vfs.New(nil))
				return under{tree, "workspace"}
			},
			Lacks: vfstest.AbsoluteSymlinks, // they start at the root of the tree
		})
	})
}

func TestHostConformance(t *testing.T) {
	lacks := vfstest.AbsoluteSymlinks | vfstest.SparseHuge | vfstest.StrictReaddir | vfstest.DirLinkCount
	if runtime.GOOS != "linux" {
		lacks |= vfstest.ExactTimes | vfstest.Chmod | vfstest.HardLinks | vfstest.Symlinks
	}
	newHost := func(t *testing.T) sys.FS {
		fsys, closeRoot, err := vfs.OpenHost(t.TempDir(), true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeRoot() })
		return fsys
	}
	vfstest.Run(t, vfstest.Impl{New: newHost, Lacks: lacks})
	t.Run("Tree", func(t *testing.T) {
		vfstest.Run(t, vfstest.Impl{
			New: func(t *testing.T) sys.FS {
				tree := vfs.NewTree(vfs.New(nil))
				mustMount(t, tree, "/mnt/host", newHost(t))
				return under{tree, "mnt/host"}
			},
			Lacks: lacks,
		})
	})
}

// opaque hides all but the interface.
type opaque struct{ sys.FS }

func mustMount(t testing.TB, tree *vfs.Tree, path string, fsys sys.FS) {
	t.Helper()
	if err := tree.Mount(path, fsys); err != nil {
		t.Fatal(err)
	}
}
