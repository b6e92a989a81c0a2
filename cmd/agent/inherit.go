package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"

	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept/carry"
)

// Inherited is what a process finds open that has started it: the sockets that a service manager listens on for it (sd_listen_fds(3)), or all that
// the agent has that it takes over from. The zero value is nothing.
type Inherited struct {
	listeners []net.Listener
	// before is the line to the agent that this one takes over from; nil: there is none.
	before *control
	lock   *os.File // of the data directory
}

// controlVariable says which descriptor is the line to the process before.
const controlVariable = "SKERRY_CONTROL"

// Inherit takes what the process was started with. It is called once, before anything is started.
func Inherit() (*Inherited, error) {
	i := &Inherited{}
	fd := os.Getenv(controlVariable)
	os.Unsetenv(controlVariable)
	if fd == "" {
		for _, f := range activation.Files(true) {
			if err := i.add(f); err != nil {
				return nil, fmt.Errorf("take a socket of the service manager: %w", err)
			}
		}
		return i, nil
	}
	n, err := strconv.ParseUint(fd, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("take over: %s is %q", controlVariable, fd)
	}
	syscall.CloseOnExec(int(n))
	if i.before, err = controlOf(os.NewFile(uintptr(n), "control")); err != nil {
		return nil, fmt.Errorf("take over: %w", err)
	}
	first, open, err := i.before.receive()
	if err == nil && len(open) != 1+first.Listeners {
		closeAll(open)
		err = fmt.Errorf("%d sockets have come", len(open))
	}
	if err != nil {
		return nil, fmt.Errorf("take over: %w", err)
	}
	i.lock = open[0]
	for _, f := range open[1:] {
		if err := i.add(f); err != nil {
			return nil, fmt.Errorf("take over a listener: %w", err)
		}
	}
	return i, nil
}

// add takes one listener; it closes the file.
func (i *Inherited) add(f *os.File) error {
	defer f.Close()
	l, err := net.FileListener(f)
	if err == nil {
		i.listeners = append(i.listeners, l)
	}
	return err
}

// listen returns what listens on an address already, or a new listener.
func (i *Inherited) listen(address string) (net.Listener, error) {
	want, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, err
	}
	for n, l := range i.listeners {
		have, ok := l.Addr().(*net.TCPAddr)
		if ok && have.Port == want.Port && (have.IP.Equal(want.IP) || (want.IP == nil || want.IP.IsUnspecified()) && have.IP.IsUnspecified()) {
			i.listeners = slices.Delete(i.listeners, n, n+1)
			return l, nil
		}
	}
	return net.Listen("tcp", address)
}

// rest closes what nobody listens on any more, by the configuration.
func (i *Inherited) rest(log *slog.Logger) {
	for _, l := range i.listeners {
		log.Warn("a socket that was handed over is not in the configuration", "address", l.Addr().String())
		l.Close()
	}
	i.listeners = nil
}

// takeOver lets clients in, and waits until the process before has let go of the store. What it says later goes on being heard.
func (a *Agent) takeOver(ctx context.Context) error {
	before := a.inherited.before
	if err := before.send(word{Ready: true}); err != nil {
		return fmt.Errorf("tell the process before: %w", err)
	}
	free := make(chan []carry.Kept, 1)
	a.hearing.Go(func() { a.hearBefore(ctx, before, free) })
	select {
	case kept := <-free:
		a.correlations.Restore(kept)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hearBefore takes what the process before leaves, until it has ended. The store is free by then at the latest.
func (a *Agent) hearBefore(ctx context.Context, before *control, free chan<- []carry.Kept) {
	var kept []carry.Kept
	freed := false
	release := func() {
		if !freed {
			freed = true
			free <- kept
		}
	}
	defer release()
	defer context.AfterFunc(ctx, func() { before.conn.Close() })()
	for {
		w, open, err := before.receive()
		switch {
		case err != nil:
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				a.log.Warn("the process before cannot be heard any more", "err", err)
			}
			return
		case w.Replicated != nil:
			for _, e := range a.entrances {
				e.Knows(*w.Replicated)
			}
		case w.Workflows != nil:
			kept = w.Workflows
		case w.Free:
			release()
		case w.Client != nil && len(open) == 1:
			if err := a.adopt(ctx, *w.Client, open[0]); err != nil {
				a.log.Warn("a client of the process before is lost", "service", string(w.Client.Service), "err", err)
			}
			open = nil
		}
		closeAll(open)
	}
}

// adopt serves a client that the process before has left; it closes the file.
func (a *Agent) adopt(ctx context.Context, c leftClient, f *os.File) error {
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return err
	}
	d := a.doors[c.Service]
	state, err := c.TLS.state()
	if err == nil && d == nil {
		err = errors.New("the configuration has no such service any more")
	}
	if err != nil {
		conn.Close()
		return err
	}
	if c.Remote != "" {
		conn = &relayed{conn, c.Remote}
	}
	if conn = a.clients.adopt(conn); !d.Adopt(ctx, door.Handed{Conn: conn, TLS: state, Before: c.Before}) {
		conn.Close()
	}
	return nil
}

// relayed is a connection to a process that has a client's TLS.
type relayed struct {
	net.Conn
	remote string
}

// RemoteAddr implements net.Conn: it is the client's.
func (r *relayed) RemoteAddr() net.Addr { return clientAddress(r.remote) }

// Bare implements door.Bare.
func (r *relayed) Bare() net.Conn { return r.Conn }

// CloseWrite is for who sends on a connection that has been taken over.
func (r *relayed) CloseWrite() error { return r.Conn.(*net.UnixConn).CloseWrite() }

type clientAddress string

// Network implements net.Addr.
func (clientAddress) Network() string { return "tcp" }

// String implements net.Addr.
func (c clientAddress) String() string { return string(c) }
