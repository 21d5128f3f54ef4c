package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

var (
	errPrivate = errors.New("the address is not public")
	errResolve = errors.New("the name cannot be resolved")
	errConnect = errors.New("no connection")
)

// dialer makes connections to addresses that are allowed.
type dialer struct {
	resolver Resolver
	private  bool
}

// maxAddresses bounds the addresses that are tried.
const maxAddresses = 8

// dial resolves a name once, and connects to what it checked: a name that has another address a moment later changes nothing.
func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	tried, last := 0, fmt.Errorf("%w: %s", errPrivate, host)
	for _, a := range addrs {
		if tried == maxAddresses {
			break
		}
		if !mayConnect(host, a, d.private) {
			continue
		}
		tried++
		conn, err := d.connect(ctx, host, a, port, len(addrs) > 1)
		if err == nil {
			return conn, nil
		}
		last = fmt.Errorf("%w: %w", errConnect, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, last
}

func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	r := d.resolver
	if r == nil {
		r = net.DefaultResolver
	}
	addrs, err := r.LookupNetIP(ctx, "ip", host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("it has no addresses")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errResolve, err)
	}
	return addrs, nil
}

// connect connects to one address. What the kernel is asked for is checked again.
func (d *dialer) connect(ctx context.Context, host string, a netip.Addr, port string, more bool) (net.Conn, error) {
	nd := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if !mayConnect(host, ap.Addr(), d.private) {
			return errPrivate
		}
		return nil
	}}
	nd.Timeout = 15 * time.Second
	if more {
		nd.Timeout = 5 * time.Second // the next address may be better
	}
	return nd.DialContext(ctx, "tcp", net.JoinHostPort(a.Unmap().String(), port))
}
