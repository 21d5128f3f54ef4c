// Package vfstest is the conformance suite of file systems: what CPython,
// sqlite3, tempfile, shutil, zipfile and pathlib rely on, as calls on wazero's
// experimental/sys.FS. Every implementation in this project runs it.
package vfstest

import (
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// Feature names something that an implementation may lack.
type Feature uint

// The features. An implementation that lacks one has those tests skipped, and
// nothing else.
const (
	// Symlinks covers Symlink and Readlink.
	Symlinks Feature = 1 << iota
	// AbsoluteSymlinks covers targets that start with a slash, which mean the
	// root of the file system.
	AbsoluteSymlinks
	// HardLinks covers Link and link counts of files.
	HardLinks
	// DirLinkCount covers 2 + subdirectories as the link count of a directory.
	DirLinkCount
	// Chmod covers permission bits that are kept and not enforced.
	Chmod
	// ExactTimes covers nanosecond time stamps and UTIME_OMIT.
	ExactTimes
	// SparseHuge covers a file of one byte at an offset of 1 TiB.
	SparseHuge
	// StrictReaddir covers listings that stay exact while entries are added and
	// removed, also in big directories.
	StrictReaddir
	// AppendPwrite covers positioned writes that honour the offset although the
	// file is in append mode.
	AppendPwrite
)

// Impl is an implementation under test.
type Impl struct {
	// New returns a new, empty, writable file system for one test.
	New func(t *testing.T) sys.FS
	// Limited returns one with quotas of so many bytes and files, the root not
	// counted. Nil skips the quota tests.
	Limited func(t *testing.T, maxBytes int64, maxFiles int) sys.FS
	// Reopen closes a file system made by New and opens what it stored. Nil
	// skips the persistence tests.
	Reopen func(t *testing.T, fsys sys.FS) sys.FS
	// Lacks is the set of features that the implementation does not have.
	Lacks Feature
}

// test is one case. Its name says what must hold.
type test struct {
	name  string
	needs Feature
	run   func(x *fixture)
}

// Run runs the suite. Each case gets a file system of its own.
func Run(t *testing.T, impl Impl) {
	t.Helper()
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Open", openTests}, {"Data", dataTests}, {"Dir", dirTests}, {"Rename", renameTests},
		{"Link", linkTests}, {"Meta", metaTests}, {"Program", programTests}, {"Limit", limitTests},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, tc := range group.tests {
				t.Run(strings.ReplaceAll(tc.name, " ", "_"), func(t *testing.T) {
					if tc.needs&impl.Lacks != 0 {
						t.Skip("the implementation lacks the feature")
					}
					tc.run(&fixture{T: t, FS: impl.New(t)})
				})
			}
		})
	}
	t.Run("Quota", func(t *testing.T) { quotaTests(t, impl) })
	t.Run("Reopen", func(t *testing.T) { reopenTests(t, impl) })
	t.Run("Hammer", func(t *testing.T) { hammer(t, impl.New(t)) })
}
