// Package netns makes small networks out of Linux network namespaces: each host is a namespace of its own, joined to
// the others by a bridge, and can be cut off in the way a broken line cuts off: packets are dropped silently and no
// interface notices.
//
// The bridge is in a namespace too, so that nothing of a network shows on the machine, two networks never collide, and
// deleting the namespaces deletes all of it. It needs root and the program ip of iproute2; for hosts behind a NAT, nft too.
//
// A machine has processes and mounts of its own beside its network: what runs a page of the documentation as on a new computer.
package netns
