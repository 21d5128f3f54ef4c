//go:build unix

package wasm

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate refuses a cache directory that somebody else could plant machine code in.
func checkPrivate(dir string) error {
	fi, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("cache directory %s belongs to user %d, not to you", dir, st.Uid)
	}
	if fi.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("cache directory %s can be written by others (mode %o)", dir, fi.Mode().Perm())
	}
	return nil
}
