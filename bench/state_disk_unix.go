//go:build unix

package bench

import (
	"io/fs"
	"syscall"
)

// allocated returns what a file takes on the disk: databases make large files and fill them later.
func allocated(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return fi.Size()
}
