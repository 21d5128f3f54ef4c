package wasi

import (
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// staleFile stands for a file that could not be opened again.
type staleFile struct{}

var _ sys.File = staleFile{}

func (staleFile) Dev() (uint64, sys.Errno)                     { return 0, ESTALE }
func (staleFile) Ino() (wsys.Inode, sys.Errno)                 { return 0, ESTALE }
func (staleFile) IsDir() (bool, sys.Errno)                     { return false, ESTALE }
func (staleFile) IsAppend() bool                               { return false }
func (staleFile) SetAppend(bool) sys.Errno                     { return ESTALE }
func (staleFile) Stat() (wsys.Stat_t, sys.Errno)               { return wsys.Stat_t{}, ESTALE }
func (staleFile) Read([]byte) (int, sys.Errno)                 { return 0, ESTALE }
func (staleFile) Pread([]byte, int64) (int, sys.Errno)         { return 0, ESTALE }
func (staleFile) Seek(fileOffset, int) (fileOffset, sys.Errno) { return 0, ESTALE }
func (staleFile) Readdir(int) ([]sys.Dirent, sys.Errno)        { return nil, ESTALE }
func (staleFile) Write([]byte) (int, sys.Errno)                { return 0, ESTALE }
func (staleFile) Pwrite([]byte, int64) (int, sys.Errno)        { return 0, ESTALE }
func (staleFile) Truncate(int64) sys.Errno                     { return ESTALE }
func (staleFile) Sync() sys.Errno                              { return ESTALE }
func (staleFile) Datasync() sys.Errno                          { return ESTALE }
func (staleFile) Utimens(int64, int64) sys.Errno               { return ESTALE }
func (staleFile) Close() sys.Errno                             { return 0 }

// notStale wraps a function whose first parameter is the descriptor that it works on.
func notStale(do func(call) errno) func(call) errno {
	return func(c call) errno {
		if c.p.hasStale {
			if f := c.p.lookup(c.u32(0)); f != nil && f.stale != nil {
				return errStale
			}
		}
		return do(c)
	}
}

// worksOnFile tells whether a function is one for notStale: all of descriptors, save for those that change what a descriptor
// stands for.
func worksOnFile(name string) bool {
	return strings.HasPrefix(name, "fd_") && name != "fd_close" && name != "fd_renumber"
}
