package netns

import "fmt"

// OnlyIPv6 takes the host's IPv4 address on the bridge away and gives it one of IPv6, fd77::1 and on. Loopback keeps both.
func (h *Host) OnlyIPv6() error {
	var number int
	if _, err := fmt.Sscanf(h.Address, "10.77.0.%d", &number); err != nil {
		return fmt.Errorf("give %s an IPv6 address: %w", h.Name, err)
	}
	address := fmt.Sprintf("fd77::%d", number)
	for _, args := range [][]string{
		{"-n", h.namespace, "-4", "address", "flush", "dev", "eth0"},
		{"-n", h.namespace, "address", "add", address + "/64", "dev", "eth0", "nodad"},
	} {
		if err := ip(args...); err != nil {
			return fmt.Errorf("give %s an IPv6 address: %w", h.Name, err)
		}
	}
	h.Address = address
	return nil
}
