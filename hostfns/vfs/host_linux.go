package vfs

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// futimens sets times on the open file itself. The path is not used.
func (h *hostFS) futimens(f *os.File, _ string, atim, mtim int64) sys.Errno {
	ts := []unix.Timespec{timespec(atim), timespec(mtim)}
	var errno sys.Errno
	err := control(f, func(fd int) { errno = hostErrno(unix.UtimesNanoAt(fd, "", ts, unix.AT_EMPTY_PATH)) })
	if err != nil {
		return sys.EBADF
	}
	return errno
}

func timespec(t int64) unix.Timespec {
	if t == sys.UTIME_OMIT {
		return unix.Timespec{Nsec: unix.UTIME_OMIT}
	}
	return unix.NsecToTimespec(t)
}

// inodes fills the inode numbers of the entries of an open directory. One that
// went away keeps 0, which libc takes as "ask again".
func inodes(f *os.File, entries []sys.Dirent) {
	_ = control(f, func(fd int) {
		for i := range entries {
			var st unix.Stat_t
			if unix.Fstatat(fd, entries[i].Name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
				entries[i].Ino = st.Ino
			}
		}
	})
}

func control(f *os.File, fn func(fd int)) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return c.Control(func(fd uintptr) { fn(int(fd)) })
}
