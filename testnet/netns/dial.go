package netns

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// DialContext connects from inside the host, so that its loopback addresses are reached too.
func (h *Host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		err := h.inside(func() { r.conn, r.err = new(net.Dialer).DialContext(ctx, network, address) })
		if err != nil {
			r.err = err
		}
		done <- r
	}()
	r := <-done // ends with ctx, as the dialer does
	return r.conn, r.err
}

// Listen listens on TCP inside the host.
func (h *Host) Listen(address string) (l net.Listener, err error) {
	if e := h.inside(func() { l, err = net.Listen("tcp", address) }); e != nil {
		return nil, e
	}
	return l, err
}

// inside runs f on a thread that is in the host's namespace. A socket belongs to the namespace in which it was made,
// whichever thread uses it later.
func (h *Host) inside(f func()) error {
	target, err := os.Open(filepath.Join(directory, h.namespace))
	if err != nil {
		return fmt.Errorf("enter %s: %w", h.Name, err)
	}
	defer target.Close()
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter %s: %w", h.Name, err)
	}
	defer home.Close()
	if err := unix.Setns(int(target.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("enter %s: %w", h.Name, err)
	}
	f()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		// The thread stays locked and so ends with this goroutine, rather than serve others from the wrong namespace.
		return fmt.Errorf("leave %s: %w", h.Name, err)
	}
	runtime.UnlockOSThread()
	return nil
}

// Client returns an HTTP client that is inside the host. It keeps up to 64 idle connections to each server.
func (h *Host) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: h.DialContext, MaxIdleConnsPerHost: 64}}
}
