package vfs_test

import (
	"fmt"

	"github.com/mayfly-run/mayfly/hostfns/vfs"
)

// A sandbox's root: a small system area, a workspace and a scratch directory.
func ExampleTree() {
	workspace := vfs.New(&vfs.Options{MaxBytes: 64 << 20})
	tree := vfs.NewTree(vfs.New(nil))
	for path, fs := range map[string]*vfs.FS{"/workspace": workspace, "/tmp": vfs.New(nil)} {
		if err := tree.Mount(path, fs); err != nil {
			fmt.Println(err)
		}
	}
	st, errno := tree.Stat("workspace")
	fmt.Println(st.Mode.IsDir(), errno == 0, tree.Mounts())
	// Output: true true [/ /tmp /workspace]
}

// What an execution changed.
func ExampleFS_Changes() {
	m := vfs.New(nil)
	m.WriteFile("data.csv", []byte("a,b"), 0o644)
	m.Mark()
	m.WriteFile("data.csv", []byte("a,b,c"), 0o644)
	m.WriteFile("out.txt", []byte("done"), 0o644)
	for _, c := range m.Changes() {
		fmt.Println(c.Op, c.Path, c.Size)
	}
	// Output:
	// modified data.csv 5
	// created out.txt 4
}
