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

// maxSocketPath is what addresses of Unix sockets hold on every system: Linux has 108 bytes, macOS 104, both with a NUL.
const maxSocketPath = 100

// ListenUnix makes a socket that only this user can connect to, in dir, or, when the path would be too long for one, in
// a new directory for temporary files. The caller holds the lock on dir, so a socket that is there was left behind. The
// listener's Close removes what was made.
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
	if temporary != "" {
		return &temporaryListener{l, temporary}, nil
	}
	return l, nil
}

type temporaryListener struct {
	net.Listener
	dir string
}

func (t *temporaryListener) Close() error {
	return errors.Join(t.Listener.Close(), os.RemoveAll(t.dir))
}
