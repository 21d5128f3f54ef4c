package httpapi

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// SocketName is the name of the socket in a store's directory.
const SocketName = "mayfly.sock"

// maxSocketPath is what addresses of Unix sockets hold on every system: Linux has 108 bytes, macOS 104, both with a
// NUL.
const maxSocketPath = 100

// ListenUnix makes a socket that only this user can connect to, in dir, or, when the path would be too long for one, in
// a new directory for temporary files. The caller holds the lock on dir, so a socket that is there was left behind.
// Processes of other users are turned away even so (on Linux). The listener's Close removes what was made.
func ListenUnix(dir string) (net.Listener, error) {
	path, err := filepath.Abs(filepath.Join(dir, SocketName))
	if err != nil {
		return nil, err
	}
	temporary := ""
	if len(path) > maxSocketPath {
		if temporary, err = os.MkdirTemp("", "mayfly-"); err != nil { // 0700
			return nil, err
		}
		path = filepath.Join(temporary, SocketName)
	} else if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("old socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err == nil {
		if err = os.Chmod(path, 0o600); err != nil {
			err = errors.Join(err, l.Close())
		}
	}
	if err != nil {
		if temporary != "" {
			err = errors.Join(err, os.RemoveAll(temporary))
		}
		return nil, err
	}
	return &ownListener{l, temporary}, nil
}

// ErrStranger says that a socket belongs to a process of another user.
var ErrStranger = errors.New("it is another user's")

// ownListener accepts connections of this user's processes only.
type ownListener struct {
	net.Listener
	temporary string // a directory that goes with it, or ""
}

func (o *ownListener) Accept() (net.Conn, error) {
	for {
		c, err := o.Listener.Accept()
		if err != nil || checkPeer(c) == nil {
			return c, err
		}
		c.Close()
	}
}

func (o *ownListener) Close() error {
	err := o.Listener.Close()
	if o.temporary != "" {
		err = errors.Join(err, os.RemoveAll(o.temporary))
	}
	return err
}
