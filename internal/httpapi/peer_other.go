//go:build !linux

package httpapi

import "net"

// checkPeer leaves it to the socket's permissions, and those of its directory, who can be at the other end.
func checkPeer(net.Conn) error { return nil }
