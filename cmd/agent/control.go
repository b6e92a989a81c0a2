package agent

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept"
	"github.com/skerry/skerry/web/intercept/carry"
)

// control is the line between a process and the one that takes over from it. Sending is safe for concurrent use, receiving is for one goroutine.
type control struct {
	conn *net.UnixConn
	mu   sync.Mutex // held while a message goes out
}

// word is one message on that line. It says one thing.
type word struct {
	// Listeners is how many listeners come with it, after the lock of the data directory: the first word of the process before.
	Listeners int `json:"listeners,omitempty"`
	// Ready: the process after takes clients from now on.
	Ready bool `json:"ready,omitempty"`
	// Replicated tells what is replicated.
	Replicated *intercept.Replicated `json:"replicated,omitempty"`
	// Workflows are the scopes that are remembered.
	Workflows []carry.Kept `json:"workflows,omitempty"`
	// Free: the store is closed, and the ports of the mesh.
	Free bool `json:"free,omitempty"`
	// Client comes with a client's connection.
	Client *leftClient `json:"client,omitempty"`
}

// leftClient is a client that one process leaves to the other.
type leftClient struct {
	Service engine.ServiceName `json:"service"`
	// Remote is its address, where the connection is not the client's own, but one to the process that has its TLS.
	Remote string     `json:"remote,omitempty"`
	TLS    *agreedTLS `json:"tls,omitempty"`
	Before []byte     `json:"before,omitempty"`
}

// agreedTLS is what is asked about a client's TLS.
type agreedTLS struct {
	Version      uint16   `json:"version"`
	Cipher       uint16   `json:"cipher"`
	Name         string   `json:"name,omitempty"`
	Protocol     string   `json:"protocol,omitempty"`
	Certificates [][]byte `json:"certificates,omitempty"`
	Verified     bool     `json:"verified,omitempty"`
}

func tellTLS(s *tls.ConnectionState) *agreedTLS {
	if s == nil {
		return nil
	}
	t := &agreedTLS{Version: s.Version, Cipher: s.CipherSuite, Name: s.ServerName, Protocol: s.NegotiatedProtocol, Verified: len(s.VerifiedChains) > 0}
	for _, c := range s.PeerCertificates {
		t.Certificates = append(t.Certificates, c.Raw)
	}
	return t
}

func (t *agreedTLS) state() (*tls.ConnectionState, error) {
	if t == nil {
		return nil, nil
	}
	s := &tls.ConnectionState{HandshakeComplete: true, Version: t.Version, CipherSuite: t.Cipher, ServerName: t.Name, NegotiatedProtocol: t.Protocol}
	for _, raw := range t.Certificates {
		c, err := x509.ParseCertificate(raw)
		if err != nil {
			return nil, err
		}
		s.PeerCertificates = append(s.PeerCertificates, c)
	}
	if t.Verified {
		s.VerifiedChains = [][]*x509.Certificate{s.PeerCertificates}
	}
	return s, nil
}

const (
	// longestWord bounds a message, mostFiles what may come with one.
	longestWord, mostFiles = 256 << 20, 200
	lengthBytes            = 4
)

// newControl returns this process's end of a new line, and the other one.
func newControl() (*control, *os.File, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for _, fd := range pair {
		unix.CloseOnExec(fd)
	}
	other := os.NewFile(uintptr(pair[1]), "control")
	c, err := controlOf(os.NewFile(uintptr(pair[0]), "control"))
	if err != nil {
		other.Close()
		return nil, nil, err
	}
	return c, other, nil
}

// controlOf is the line that a file is an end of; it closes the file.
func controlOf(f *os.File) (*control, error) {
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.New("it is no socket of this machine")
	}
	return &control{conn: u}, nil
}

// send tells the other process something, and gives it what is open here as well; that stays open here.
func (c *control) send(w word, open ...syscall.Conn) error {
	b, err := json.Marshal(w)
	if err != nil {
		return err
	}
	var copies []int
	defer func() {
		for _, fd := range copies {
			unix.Close(fd)
		}
	}()
	for _, o := range open {
		fd, err := copyOf(o)
		if err != nil {
			return err
		}
		copies = append(copies, fd)
	}
	var rights []byte
	if len(copies) > 0 {
		rights = unix.UnixRights(copies...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, _, err := c.conn.WriteMsgUnix(binary.BigEndian.AppendUint32(nil, uint32(len(b))), rights, nil); err != nil {
		return err
	}
	_, err = c.conn.Write(b)
	return err
}

func copyOf(o syscall.Conn) (fd int, err error) {
	raw, err := o.SyscallConn()
	if err != nil {
		return -1, err
	}
	if failed := raw.Control(func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) }); failed != nil {
		return -1, failed
	}
	return fd, err
}

// receive waits for what the other process says; io.EOF when it has ended, or has nothing more to say.
func (c *control) receive() (w word, open []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(open)
			open = nil
		}
	}()
	length, rights := make([]byte, lengthBytes), make([]byte, unix.CmsgSpace(mostFiles*4))
	n, r, _, _, err := c.conn.ReadMsgUnix(length, rights)
	if err != nil {
		return w, nil, err
	}
	if r > 0 {
		if open, err = filesOf(rights[:r]); err != nil {
			return w, open, err
		}
	}
	if n == 0 {
		return w, open, io.EOF
	}
	if _, err = io.ReadFull(c.conn, length[n:]); err != nil {
		return w, open, err
	}
	size := binary.BigEndian.Uint32(length)
	if size > longestWord {
		return w, open, fmt.Errorf("a message of %d bytes", size)
	}
	b := make([]byte, size)
	if _, err = io.ReadFull(c.conn, b); err != nil {
		return w, open, err
	}
	return w, open, json.Unmarshal(b, &w)
}

func filesOf(rights []byte) (open []*os.File, err error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return open, err
		}
		for _, fd := range fds {
			open = append(open, os.NewFile(uintptr(fd), "handed over"))
		}
	}
	return open, nil
}

func closeAll(open []*os.File) {
	for _, f := range open {
		f.Close()
	}
}
