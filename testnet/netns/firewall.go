package netns

import "fmt"

// Close drops silently what others begin to send to the port on the host, over UDP and TCP, as a firewall does. What the host itself has
// begun goes on. Open ends it.
func (h *Host) Close(port int) error {
	for _, argv := range [][]string{
		{"nft", "add table inet firewall"},
		{"nft", "add chain inet firewall in { type filter hook input priority 0; }"},
		{"nft", fmt.Sprintf("add rule inet firewall in iifname eth0 meta l4proto { tcp, udp } th dport %d ct state new drop", port)},
	} {
		if err := command(h.Command(argv...)...); err != nil {
			return fmt.Errorf("close port %d of %s: %w", port, h.Name, err)
		}
	}
	return nil
}

// Open ends Close.
func (h *Host) Open() error {
	if err := command(h.Command("nft", "delete table inet firewall")...); err != nil {
		return fmt.Errorf("open the ports of %s: %w", h.Name, err)
	}
	return nil
}
