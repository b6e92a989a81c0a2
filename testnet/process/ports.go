package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// Ports are given out in blocks between these: above what services of a machine have by custom, below what Linux gives to connections and
// to whoever asks for any port (net.ipv4.ip_local_port_range begins at 32768), so that nobody takes one between Ports and its use.
const (
	firstPort = 10000
	lastPort  = 29999
	blockSize = 100
)

// block is where this process takes ports from: it listens on the first port of the block as long as it lives, so that no other process
// that calls Ports has the same one.
var block struct {
	sync.Mutex
	held []net.Listener
	next int // the next port to give; 0, or the first of another block: there is none left
}

// Ports gives out n ports of loopback, for programs that are told where to listen: free for TCP and UDP, and never given out twice, neither
// by this process nor by another that runs. It is safe for concurrent use.
func Ports(n int) (ports []int, err error) {
	block.Lock()
	defer block.Unlock()
	for len(ports) < n {
		if block.next%blockSize == 0 {
			if err := hold(); err != nil {
				return nil, err
			}
		}
		if Free(block.next) {
			ports = append(ports, block.next)
		}
		block.next++
	}
	return ports, nil
}

// hold takes another block, a random one.
func hold() error {
	const blocks = (lastPort + 1 - firstPort) / blockSize
	for _, i := range rand.Perm(blocks) {
		first := firstPort + i*blockSize
		l, err := net.Listen("tcp4", loopback(first))
		if err != nil {
			continue
		}
		block.held, block.next = append(block.held, l), first+1
		return nil
	}
	return fmt.Errorf("find free ports: others hold all %d blocks between %d and %d", blocks, firstPort, lastPort)
}

// Free reports whether nothing listens on a port of loopback now, with TCP or UDP.
func Free(port int) bool {
	l, err := net.Listen("tcp4", loopback(port))
	if err != nil {
		return false
	}
	c, udp := net.ListenPacket("udp4", loopback(port))
	if udp == nil {
		udp = c.Close()
	}
	return errors.Join(l.Close(), udp) == nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
