package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// ipOf returns the IP address of a multiaddress, the zero Addr when it has a name or nothing.
func ipOf(address string) netip.Addr {
	parts := strings.Split(address, "/")
	if len(parts) < 3 || parts[1] != "ip4" && parts[1] != "ip6" {
		return netip.Addr{}
	}
	ip, err := netip.ParseAddr(parts[2])
	if err != nil {
		return netip.Addr{}
	}
	return ip.Unmap()
}

// portsOf lists the ports of some multiaddresses as people write them: UDP 4700, TCP 4700.
func portsOf(addresses []string) string {
	var ports []string
	for _, a := range addresses {
		parts := strings.Split(a, "/")
		if len(parts) < 5 || parts[3] != "udp" && parts[3] != "tcp" {
			continue
		}
		if p := fmt.Sprintf("%s %s", strings.ToUpper(parts[3]), parts[4]); !slices.Contains(ports, p) {
			ports = append(ports, p)
		}
	}
	slices.Sort(ports)
	slices.Reverse(ports)
	return and(ports)
}

// and joins as people do: a, b and c.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
