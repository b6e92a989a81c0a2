package auth

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
)

type ownerKey struct{}

// WithOwner returns the context of a connection, for http.Server's ConnContext: with it a Guard can tell whose process is at its other
// end, which it looks up when it is asked first.
func WithOwner(ctx context.Context, c net.Conn) context.Context {
	client, server := c.RemoteAddr().String(), c.LocalAddr().String()
	return context.WithValue(ctx, ownerKey{}, sync.OnceValue(func() bool { return own(client, server) }))
}

// own reports whether a connection comes over loopback from a process of this one's user, or of root.
func own(client, server string) bool {
	from, err := netip.ParseAddrPort(client)
	to, err2 := netip.ParseAddrPort(server)
	if err != nil || err2 != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	uid, err := ownerOf(from, to)
	return err == nil && (uid == 0 || int64(uid) == int64(os.Getuid()))
}

// Tells reports whether the kernel says here whose process is at the other end of a connection. It tries with one of its own.
func Tells() bool {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return false
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return false
	}
	defer c.Close()
	return own(c.LocalAddr().String(), c.RemoteAddr().String())
}

// isOwn reports whether a request comes from a process of this one's user, or of root, and from nobody behind it.
func isOwn(r *http.Request) bool {
	is, ok := r.Context().Value(ownerKey{}).(func() bool)
	return ok && r.Header.Get("X-Forwarded-For") == "" && r.Header.Get("Forwarded") == "" && is()
}
