//go:build !unix

package p2p

import (
	"errors"
	"net"
)

// peek is not possible: there are no lanes to such a machine.
func peek(net.Conn) (byte, error) { return 0, errors.ErrUnsupported }
