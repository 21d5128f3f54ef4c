package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// canonicalHost brings a host into its only form: a name in lower case without a trailing dot, or an address as netip
// writes it, without brackets. IPv4 addresses in IPv6 are IPv4 addresses.
func canonicalHost(text string) (host string, literal netip.Addr, err error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(inner)
		if !ok || err != nil || !a.Is6() || a.Zone() != "" {
			return "", a, fmt.Errorf("%q is no IPv6 address", cut(text, 60))
		}
		a = a.Unmap()
		return a.String(), a, nil
	}
	if a, err := netip.ParseAddr(text); err == nil {
		if a.Zone() != "" {
			return "", a, fmt.Errorf("%q has a zone, which is not supported", cut(text, 60))
		}
		a = a.Unmap()
		return a.String(), a, nil
	}
	host = strings.TrimSuffix(strings.ToLower(text), ".")
	if err := checkName(host); err != nil {
		return "", netip.Addr{}, err
	}
	return host, netip.Addr{}, nil
}

func checkName(host string) error {
	if host == "" {
		return errors.New("there is no host")
	}
	if len(host) > 253 {
		return errors.New("the host name is too long")
	}
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("%q is no host name", cut(host, 60))
		}
		for i := range len(label) {
			switch c := label[i]; {
			case c >= 0x80:
				return fmt.Errorf("the host name %q has to be written in ASCII (xn--...)", cut(host, 60))
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
			default:
				return fmt.Errorf("%q is no host name", cut(host, 60))
			}
		}
		last = label
	}
	// Resolvers take 127.1, 0x7f000001 and 017700000001 for addresses.
	if last[0] >= '0' && last[0] <= '9' && (isDigits(last) || strings.HasPrefix(last, "0x")) {
		return fmt.Errorf("%q is no host name; an IPv4 address has four decimal numbers", cut(host, 60))
	}
	return nil
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// bracket puts an IPv6 address in brackets.
func bracket(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
