package netns

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A line is a host's cable that takes its time: every frame arrives a while after it was sent, in order. It is made of a TAP
// device at each end and of this process, which carries the frames; the kernel's netem need not be there.
type line struct {
	ends [2]*os.File
	wait sync.WaitGroup
}

// maxFrames is how many frames may be on their way in one direction; more are lost, as on a real line.
const maxFrames = 4096

// Lengthen replaces the host's cable by one on which a frame takes delay, so that its round trips take twice as long. It is
// called once, before anything runs on the host. Close of the network ends it.
func (h *Host) Lengthen(delay time.Duration) error {
	l := &line{}
	h.network.mu.Lock()
	h.network.lines = append(h.network.lines, l)
	h.network.mu.Unlock()
	bridge := &Host{Name: "the bridge", namespace: h.network.name}
	err := h.network.ip("link", "delete", h.port) // its other end goes with it
	if err == nil {
		l.ends[0], err = h.tap("eth0")
	}
	if err == nil {
		l.ends[1], err = bridge.tap(h.port)
	}
	if err == nil {
		err = h.network.ip("link", "set", h.port, "master", "bridge", "up")
	}
	if err == nil {
		err = h.address()
	}
	if err != nil {
		return fmt.Errorf("lengthen the line of %s: %w", h.Name, err)
	}
	l.wait.Go(func() { carry(l.ends[0], l.ends[1], delay) })
	l.wait.Go(func() { carry(l.ends[1], l.ends[0], delay) })
	return nil
}

// tap makes a TAP device in the host's namespace. What is read from it was sent there, what is written to it arrives there.
func (h *Host) tap(name string) (f *os.File, err error) {
	inside := h.inside(func() {
		var fd int
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
			return
		}
		var request *unix.Ifreq
		if request, err = unix.NewIfreq(name); err == nil {
			request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			_ = unix.Close(fd)
			return
		}
		f = os.NewFile(uintptr(fd), "tap "+name+" "+strconv.Itoa(fd)) // non-blocking, so that Close ends a Read
	})
	return f, errors.Join(inside, err)
}

// frame is one on its way.
type frame struct {
	data []byte
	due  time.Time
}

// carry takes frames from one end to the other until either is closed.
func carry(from, to *os.File, delay time.Duration) {
	frames := make(chan frame, maxFrames)
	var wait sync.WaitGroup
	wait.Go(func() {
		for f := range frames {
			time.Sleep(time.Until(f.due))
			_, _ = to.Write(f.data) // lost when the other end is down, as on a real line
		}
	})
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if errors.Is(err, os.ErrClosed) {
			break
		}
		if err != nil {
			continue
		}
		select {
		case frames <- frame{append([]byte(nil), buffer[:n]...), time.Now().Add(delay)}:
		default:
		}
	}
	close(frames)
	wait.Wait()
}

func (l *line) close() error {
	var errs []error
	for _, end := range l.ends {
		if end != nil {
			errs = append(errs, end.Close())
		}
	}
	l.wait.Wait()
	return errors.Join(errs...)
}
