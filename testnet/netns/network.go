package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// prefix begins the names of all namespaces made here; after it come the process and a number within it.
const prefix = "skerry-"

var made atomic.Int64

// ErrNotRoot says that namespaces cannot be made.
var ErrNotRoot = errors.New("network namespaces need root: run as root (sudo make test)")

// Network is a bridge and its hosts. Its methods are safe for concurrent use.
type Network struct {
	name string // of the bridge's namespace, and the beginning of the hosts'

	mu    sync.Mutex // guards hosts and lines
	hosts []*Host
	lines []*line
	// routers are the namespaces of NATs.
	routers []string
}

// Host is one namespace, with the loopback interface and one to the bridge.
type Host struct {
	Name string
	// Address is the host's IPv4 address on the bridge.
	Address string

	network   *Network
	namespace string
	port      string // the bridge's end of the host's cable, or of its NAT's
	router    string // the namespace of the host's NAT; empty: there is none
}

// New makes a network with the named hosts, at addresses 10.77.0.1 and on. It first removes what processes that
// are gone have left behind. Close removes the network.
func New(hosts ...string) (*Network, error) {
	if os.Geteuid() != 0 {
		return nil, ErrNotRoot
	}
	if err := sweep(); err != nil {
		return nil, fmt.Errorf("remove namespaces of dead processes: %w", err)
	}
	n := &Network{name: fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), made.Add(1))}
	err := ip("netns", "add", n.name)
	if err == nil {
		err = n.ip("link", "add", "bridge", "type", "bridge", "forward_delay", "0", "mcast_snooping", "0")
	}
	if err == nil {
		err = n.ip("link", "set", "bridge", "up")
	}
	for i, h := range hosts {
		if err == nil {
			err = n.add(h, i+1)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make network: %w", err), n.Close())
	}
	return n, nil
}

func (n *Network) add(name string, number int) error {
	h := &Host{
		Name:      name,
		Address:   fmt.Sprintf("10.77.0.%d", number),
		network:   n,
		namespace: n.name + "-" + name,
		port:      "port" + strconv.Itoa(number),
	}
	n.hosts = append(n.hosts, h)
	if err := ip("netns", "add", h.namespace); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"link", "add", h.port, "type", "veth", "peer", "name", "eth0", "netns", h.namespace},
		{"link", "set", h.port, "master", "bridge", "up"},
	} {
		if err := n.ip(args...); err != nil {
			return err
		}
	}
	if err := ip("-n", h.namespace, "link", "set", "lo", "up"); err != nil {
		return err
	}
	return h.address()
}

// address gives the host's end of its cable its address.
func (h *Host) address() error {
	if err := ip("-n", h.namespace, "address", "add", h.Address+"/24", "dev", "eth0"); err != nil {
		return err
	}
	return ip("-n", h.namespace, "link", "set", "eth0", "up")
}

// Move gives the host another address on the bridge, a free one of the network's. What listens at the old one is not told.
func (h *Host) Move(address string) error {
	if err := ip("-n", h.namespace, "address", "delete", h.Address+"/24", "dev", "eth0"); err != nil {
		return fmt.Errorf("move %s: %w", h.Name, err)
	}
	h.Address = address
	return h.address()
}

// Host returns the host of that name, nil when there is none.
func (n *Network) Host(name string) *Host {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range n.hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// Close removes the namespaces and all that is in them. Processes in them have to be stopped before.
func (n *Network) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var errs []error
	for _, l := range n.lines {
		errs = append(errs, l.close())
	}
	n.lines = nil
	for _, h := range n.hosts {
		errs = append(errs, remove(h.namespace))
	}
	for _, r := range n.routers {
		errs = append(errs, remove(r))
	}
	n.hosts, n.routers = nil, nil
	return errors.Join(append(errs, remove(n.name))...)
}

// Cut drops every packet from and to the host, silently: its cable leaves the bridge and ends nowhere, yet stays
// plugged in. Connections inside the host go on.
func (h *Host) Cut() error {
	if err := h.network.ip("link", "set", h.port, "nomaster"); err != nil {
		return fmt.Errorf("cut %s off: %w", h.Name, err)
	}
	return nil
}

// Heal ends Cut.
func (h *Host) Heal() error {
	if err := h.network.ip("link", "set", h.port, "master", "bridge"); err != nil {
		return fmt.Errorf("heal %s: %w", h.Name, err)
	}
	return nil
}

// Command returns what runs argv on the host.
func (h *Host) Command(argv ...string) []string {
	return append([]string{"ip", "netns", "exec", h.namespace}, argv...)
}

// ip runs the program in the bridge's namespace.
func (n *Network) ip(args ...string) error { return ip(append([]string{"-n", n.name}, args...)...) }

func ip(args ...string) error { return command(append([]string{"ip"}, args...)...) }

// directory is where iproute2 keeps named namespaces, files what those have in /etc of their own.
const directory, files = "/run/netns", "/etc/netns"

// Names has what is run on the host find names as hosts says, which is as /etc/hosts is.
func (h *Host) Names(hosts string) error {
	own := filepath.Join(files, h.namespace)
	err := os.MkdirAll(own, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(own, "hosts"), []byte(hosts), 0o644)
	}
	if err != nil {
		return fmt.Errorf("name hosts at %s: %w", h.Name, err)
	}
	return nil
}

func remove(namespace string) error {
	if err := os.RemoveAll(filepath.Join(files, namespace)); err != nil {
		return fmt.Errorf("remove the files of a namespace: %w", err)
	}
	_ = os.Remove(files) // others may have some there
	if _, err := os.Stat(filepath.Join(directory, namespace)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return ip("netns", "delete", namespace)
}

// sweep removes namespaces whose process is gone. Another test may do the same at this moment.
func sweep() error {
	all, err := filepath.Glob(filepath.Join(directory, prefix+"*-*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range all {
		name := filepath.Base(path)
		number, _, _ := strings.Cut(name[len(prefix):], "-")
		pid, err := strconv.Atoi(number)
		if err != nil || !gone(pid) {
			continue
		}
		if err := remove(name); err != nil {
			if _, stat := os.Stat(path); stat == nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// gone reports whether there is no process pid. Its number may have been given to another one: then what it left stays
// until that ends too, and disturbs nobody.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// Run runs a command on the host that ends at once.
func (h *Host) Run(argv ...string) error {
	if err := command(h.Command(argv...)...); err != nil {
		return fmt.Errorf("at %s: %w", h.Name, err)
	}
	return nil
}
