package egress

import "net/netip"

// notPublic are the ranges of IPv4 that are not the public Internet: the registry of special-purpose addresses, multicast
// and what is reserved. Cloud metadata services that have a public-looking address stand at the end.
var notPublic = prefixes(
	"0.0.0.0/8",       // this network; Linux connects 0.0.0.0 to itself
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // behind a carrier's NAT; some clouds' metadata
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local; most clouds' metadata
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments; a cloud's metadata
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, broadcast
	"168.63.129.16/32",
)

// global is the part of IPv6 that has public addresses, notGlobal what of it has not.
var (
	global    = netip.MustParsePrefix("2000::/3")
	notGlobal = prefixes(
		"2001::/23",     // protocol assignments: Teredo, ORCHID, benchmarks
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4: any IPv4 address is in there
		"3fff::/20",     // documentation
	)
	// nat64 is where IPv6-only networks see the IPv4 Internet. The local form, 64:ff9b:1::/48, is nobody else's business.
	nat64 = netip.MustParsePrefix("64:ff9b::/96")
)

// metadata are services that hand out the credentials of the machine: only a rule with the very address allows them.
var metadata = prefixes(
	"169.254.169.254/32", "169.254.170.0/24", "100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32",
	"fd00:ec2::/32", "fd20:ce::254/128", "fd00:42::42/128",
)

func prefixes(text ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(text))
	for i, t := range text {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// isPublic reports whether an address belongs to the public Internet.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if a.Is4() {
		return !within(a, notPublic)
	}
	if a.Zone() != "" {
		return false
	}
	if v4, ok := translated(a); ok {
		return isPublic(v4)
	}
	return global.Contains(a) && !within(a, notGlobal)
}

// translated returns the IPv4 address that a NAT64 translator would connect to.
func translated(a netip.Addr) (netip.Addr, bool) {
	if !nat64.Contains(a) {
		return a, false
	}
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:])), true
}

// isMetadata reports whether an address is that of a cloud's metadata service.
func isMetadata(a netip.Addr) bool {
	a = a.Unmap()
	if v4, ok := translated(a); ok {
		a = v4
	}
	return within(a, metadata)
}

// mayConnect reports whether a connection to a host may be made to an address. Private tells that a rule allows the host
// addresses that are not public. The host is in canonical form.
func mayConnect(host string, a netip.Addr, private bool) bool {
	a = a.Unmap()
	if !a.IsValid() {
		return false
	}
	if literal, err := netip.ParseAddr(host); err == nil {
		return a == literal && (private || isPublic(a))
	}
	if isPublic(a) {
		return true
	}
	switch {
	case !private:
		return false
	case host == "localhost":
		return a.IsLoopback()
	}
	return !isMetadata(a) && !a.IsMulticast() && !a.IsUnspecified()
}
