package auth

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"syscall"
)

// The parts of linux/sock_diag.h and linux/inet_diag.h that are needed here.
const (
	netlinkSockDiag  = 4
	sockDiagByFamily = 20
	diagRequest      = 56 // bytes of struct inet_diag_req_v2
	diagAnswer       = 72 // bytes of struct inet_diag_msg
	listening        = 10 // TCP_LISTEN
)

// ownerOf returns the user whose socket is at the other end of a connection on this machine: that of the process that opened it. It
// asks the kernel, as ss does. A socket that its process has closed already belongs to nobody any more, and is an error.
func ownerOf(client, server netip.AddrPort) (uid uint32, err error) {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, netlinkSockDiag)
	if err != nil {
		return 0, fmt.Errorf("ask for the owner of a connection: %w", err)
	}
	defer syscall.Close(fd)
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &syscall.Timeval{Sec: 1}); err != nil {
		return 0, fmt.Errorf("ask for the owner of a connection: %w", err)
	}
	b := make([]byte, syscall.SizeofNlMsghdr+diagRequest)
	native, network := binary.NativeEndian, binary.BigEndian
	native.PutUint32(b[0:], uint32(len(b)))
	native.PutUint16(b[4:], sockDiagByFamily)
	native.PutUint16(b[6:], syscall.NLM_F_REQUEST)
	q := b[syscall.SizeofNlMsghdr:]
	q[0], q[1] = syscall.AF_INET, syscall.IPPROTO_TCP
	if client.Addr().Is6() {
		q[0] = syscall.AF_INET6
	}
	native.PutUint32(q[4:], ^uint32(0)) // in whatever state
	network.PutUint16(q[8:], client.Port())
	network.PutUint16(q[10:], server.Port())
	copy(q[12:28], client.Addr().AsSlice())
	copy(q[28:44], server.Addr().AsSlice())
	native.PutUint64(q[48:], ^uint64(0)) // no cookie
	if err := syscall.Sendto(fd, b, 0, &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("ask for the owner of a connection: %w", err)
	}
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(fd, answer, 0)
	if err != nil {
		return 0, fmt.Errorf("ask for the owner of a connection: %w", err)
	}
	a := answer[:n]
	if n < syscall.SizeofNlMsghdr+diagAnswer || native.Uint16(a[4:]) != sockDiagByFamily {
		return 0, fmt.Errorf("the kernel knows no connection from %s", client)
	}
	a = a[syscall.SizeofNlMsghdr:]
	inode := native.Uint32(a[68:])
	switch {
	case a[1] == listening, network.Uint16(a[4:]) != client.Port(), network.Uint16(a[6:]) != server.Port():
		return 0, fmt.Errorf("the kernel knows no connection from %s", client)
	case inode == 0: // closed: the kernel calls it root's then
		return 0, fmt.Errorf("the connection from %s is closed", client)
	}
	return native.Uint32(a[64:]), nil
}
