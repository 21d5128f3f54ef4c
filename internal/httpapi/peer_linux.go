package httpapi

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// checkPeer returns an error unless the process at the other end of a Unix socket is one of this user, or of root, who
// may do everything anyway. Where the socket is says less: the directory may be one that others can write to.
func checkPeer(c net.Conn) error {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("who is at the other end of the socket: %w", err)
	}
	return trusted(peer.Uid, os.Geteuid())
}

func trusted(uid uint32, own int) error {
	if uid == 0 || int64(uid) == int64(own) {
		return nil
	}
	return fmt.Errorf("%w: user %d, and not user %d", ErrStranger, uid, own)
}
