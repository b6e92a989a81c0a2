package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Process is one running child. Its methods are safe for concurrent use.
type Process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended; read after done is closed
}

// Start runs argv with standard output and error appended to the file log. The child gets SIGKILL when this
// process ends in whatever way. Whoever starts a process stops it with Stop or Kill.
func Start(name, log string, argv ...string) (*Process, error) {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer f.Close() // the child has its own descriptor
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = f, f
	// A group of its own keeps the terminal's Ctrl-C from it: its starter decides when it stops.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	p := &Process{name: name, log: log, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// run starts the child and waits for it on one thread of the system: the parent-death signal is sent when the
// thread that started the child ends, so that thread has to live as long as the child.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.done)
}

// Name returns the name that Start was given.
func (p *Process) Name() string { return p.name }

// PID returns the identifier of the child.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Log returns the path of the file with what the child has written.
func (p *Process) Log() string { return p.log }

// Stop asks the child to end with SIGTERM, waits, and kills it when grace has passed. It returns an error when the
// child had to be killed or ended with a status other than 0.
func (p *Process) Stop(grace time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		return errors.Join(fmt.Errorf("stop %s: still there after %s, killed", p.name, grace), p.Kill())
	}
	if p.err != nil {
		return fmt.Errorf("stop %s: %w", p.name, p.err)
	}
	return nil
}

// Kill ends the child with SIGKILL and waits until it is gone.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", p.name, err)
	}
	<-p.done
	return nil
}

// Ended tells how the child ended, with the last lines of its log; nil while it runs.
func (p *Process) Ended() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	how := "status 0"
	if p.err != nil {
		how = p.err.Error()
	}
	return fmt.Errorf("%s has ended (%s):\n%s", p.name, how, Tail(p.log, 15))
}

// Tail returns the last lines of a log, for people.
func Tail(path string, lines int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n")
}
