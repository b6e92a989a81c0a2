package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/door"
	"github.com/skerry/skerry/web/intercept"
)

// Life is what the process that runs an agent has to do with it. The zero value is one that nobody takes over from.
type Life struct {
	Inherited *Inherited
	// Renew asks for another process to take over: a new program, or the same with a new configuration. Successor is what to run then; its
	// standard output and error are this process's.
	Renew     <-chan os.Signal
	Successor func() *exec.Cmd
	// StandBy waits until no other agent uses the data directory, and opens nothing before.
	StandBy bool
	// LogLevel is from which level on the log is written, which administrators may change; nil: they may not.
	LogLevel *slog.LevelVar
	// Opens is told of a link that lets one browser in, once the agent is up, where nobody has an account; nil: nobody is.
	Opens func(link string)
}

const (
	// comingUp is how long a successor may take to read its configuration and listen.
	comingUp = time.Minute
	// lingering is how long what is under way may go on in a process that another has taken over from.
	lingering = time.Hour
)

// errSucceeded ends what another process does from now on.
var errSucceeded = errors.New("another process has taken over")

// renew starts a successor whenever that is asked for, until one has taken over.
func (a *Agent) renew(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.life.Renew:
		}
		a.log.Info("another process is started to take over")
		line, err := a.succeed(ctx)
		if err != nil {
			a.log.Error("no other process has taken over: this one goes on", "err", err)
			continue
		}
		a.after = line
		return errSucceeded
	}
}

// succeed starts a successor and returns when it takes clients. After an error it is gone.
func (a *Agent) succeed(ctx context.Context) (_ *control, err error) {
	line, other, err := newControl()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			line.conn.Close()
		}
	}()
	cmd := a.life.Successor()
	cmd.ExtraFiles = []*os.File{other}
	cmd.Env = append(cmd.Environ(), controlVariable+"=3")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Start()
	other.Close()
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ready := make(chan error, 1)
	go func() { ready <- a.introduce(line) }()
	late := time.NewTimer(comingUp)
	defer late.Stop()
	select {
	case err = <-ready:
		if err == nil {
			a.tellManager(fmt.Sprintf("MAINPID=%d", cmd.Process.Pid))
			return line, nil
		}
	case <-late.C:
		err = fmt.Errorf("it is not ready after %s", comingUp)
	case <-ctx.Done():
		err = ctx.Err()
	}
	line.conn.Close()
	_ = cmd.Process.Kill() // it may have ended by itself
	if how := <-ended; errors.Is(err, io.EOF) {
		err = fmt.Errorf("it has ended: %w", how)
	}
	return nil, err
}

// introduce gives a successor what is open, and waits until it takes clients.
func (a *Agent) introduce(line *control) error {
	open := []syscall.Conn{a.store.Lock()}
	for _, l := range a.bare {
		open = append(open, l)
	}
	if err := line.send(word{Listeners: len(a.bare)}, open...); err != nil {
		return err
	}
	w, rest, err := line.receive()
	closeAll(rest)
	if err == nil && !w.Ready {
		err = errors.New("it says something else than that it is ready")
	}
	return err
}

// replicated is what a successor is to know before it has the store.
func (a *Agent) replicated(final bool) *intercept.Replicated {
	r := &intercept.Replicated{Final: final, Workflows: !a.correlations.Empty()}
	for name := range a.catalog.Services {
		for _, k := range a.client.Kinds(name) {
			if a.core.Site.Replicates(k) {
				r.Kinds = append(r.Kinds, intercept.Kind{Service: name, Name: k.Name})
			}
		}
	}
	return r
}

// leave gives the successor all clients, and waits until nothing is under way that needs this site's engine.
func (a *Agent) leave(ctx context.Context) {
	a.say(word{Replicated: a.replicated(false)})
	var doors sync.WaitGroup
	for name, d := range a.doors {
		doors.Go(func() { d.Leave(ctx, func(h door.Handed) bool { return a.handOn(name, h) }) })
	}
	doors.Wait()
}

// letGo gives the successor the store, and the ports of the mesh. The engine has stopped.
func (a *Agent) letGo() error {
	a.say(word{Replicated: a.replicated(true)})
	if kept := a.correlations.Kept(); len(kept) > 0 {
		a.say(word{Workflows: kept})
	}
	err := errors.Join(a.closeNetwork(), a.closeStore())
	a.let = true
	a.say(word{Free: true})
	a.log.Info("another process has taken over")
	return err
}

// linger waits until what was under way has ended.
func (a *Agent) linger(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() {
		err := a.letIn.Wait()
		a.relays.Wait()
		a.hearing.Wait() // the process before may have clients yet
		ended <- err
	}()
	late := time.NewTimer(lingering)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
	case <-ctx.Done():
	}
	a.shut()
	return a.letIn.Wait()
}

func (a *Agent) say(w word) {
	if err := a.after.send(w); err != nil {
		a.log.Warn("the successor cannot be told", "err", err)
	}
}

// handOn gives the successor a client. Where its connection is TLS this process goes on to encrypt for it.
func (a *Agent) handOn(service engine.ServiceName, h door.Handed) bool {
	w := &leftClient{Service: service, TLS: tellTLS(h.TLS), Before: h.Before}
	open := bareOf(h.Conn)
	if h.TLS != nil {
		w.Remote = h.Conn.RemoteAddr().String()
	}
	var mine *net.UnixConn
	if open == nil {
		ours, theirs, err := newControl()
		if err != nil {
			a.log.Warn("a client cannot be handed on", "err", err)
			return false
		}
		defer theirs.Close()
		mine, open = ours.conn, theirs
	}
	if err := a.after.send(word{Client: w}, open); err != nil {
		a.log.Warn("a client cannot be handed on", "err", err)
		if mine != nil {
			mine.Close()
		}
		return false
	}
	if mine == nil {
		h.Conn.Close() // the successor has it
		return true
	}
	a.relays.Go(func() { relay(h.Conn, mine) })
	return true
}

// bareOf is the kernel's connection that bytes come from in clear; nil where there is none.
func bareOf(conn net.Conn) syscall.Conn {
	for {
		switch c := conn.(type) {
		case *tls.Conn:
			return nil
		case interface{ Bare() net.Conn }:
			conn = c.Bare()
		case syscall.Conn:
			return c
		default:
			return nil
		}
	}
}

// relay passes bytes on between a client and the process that answers it, until both have ended.
func relay(client net.Conn, answers *net.UnixConn) {
	defer answers.Close()
	defer client.Close()
	_ = client.SetDeadline(time.Time{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(answers, client)
		_ = answers.CloseWrite()
	}()
	_, _ = io.Copy(client, answers)
	if w, ok := client.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
	}
	// It has been answered for the last time; what it may say yet nobody hears.
	_ = client.SetReadDeadline(time.Now().Add(5 * time.Second))
	<-done
}
