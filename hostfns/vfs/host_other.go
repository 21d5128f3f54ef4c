//go:build !unix

package vfs

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
)

const openNonblock = 0

func hostExtension(syscall.Errno) (sys.Errno, bool) { return 0, false }
