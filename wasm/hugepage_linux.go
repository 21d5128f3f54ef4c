//go:build linux && !mayfly_file && !mayfly_copy

package wasm

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// minCode is the size from which on a code mapping is worth it.
const minCode = 8 << 20

// hugeCode asks the kernel to back compiled guests with huge pages. Interpreters are some 30 MB of machine code that calls
// go all over, and with small pages the processor spends much of a short call on looking up where it is: a fork and its
// first result take a third longer. It costs a tenth of a second or two, once, so it is done in the background, and a
// kernel that cannot (before 6.1) changes nothing. It ends early when goOn says no.
//
// The runtime does not tell where it put the code; a mapping of this size that may be executed and belongs to no file can
// be nothing else.
func hugeCode(goOn func() bool) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	const huge = 2 << 20
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var lo, hi uint64
		var perm, offset, dev string
		var inode uint64
		n, _ := fmt.Sscanf(sc.Text(), "%x-%x %s %s %s %d", &lo, &hi, &perm, &offset, &dev, &inode)
		if n != 6 || !strings.HasPrefix(perm, "r-x") || inode != 0 || hi-lo < minCode {
			continue
		}
		lo, hi = (lo+huge-1)&^(huge-1), hi&^(huge-1)
		// One at a time: the process's page tables are locked meanwhile.
		for ; lo < hi && goOn(); lo += huge {
			if _, _, e := unix.Syscall(unix.SYS_MADVISE, uintptr(lo), huge, unix.MADV_COLLAPSE); e == unix.EINVAL {
				return
			}
		}
	}
}
