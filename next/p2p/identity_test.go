package p2p

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

func TestIdentityStays(t *testing.T) {
	dir := t.TempDir()
	first, err := Identity(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := Identity(dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := SiteIDOf(first)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := SiteIDOf(second); err != nil || a != b {
		t.Errorf("the site was %s and is %s: %v", a, b, err)
	}
	if _, err := peerOf(a); err != nil {
		t.Errorf("%s is no site id: %v", a, err)
	}
	path := filepath.Join(dir, identityFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file has mode %v: %v", info.Mode(), err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files were left: %v", len(files), err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Identity(dir); err == nil || !strings.Contains(err.Error(), "0600") {
		t.Errorf("a key that others may read: %v", err)
	}
}

func TestIdentityIsNoKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, identityFile)
	if err := os.WriteFile(path, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Identity(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that holds no key: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "no key" {
		t.Errorf("it was changed: %q, %v", b, err)
	}
}

func TestPortInUse(t *testing.T) {
	s := newTestSite(t, testConfig{listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1", "/ip4/127.0.0.1/tcp/0"}})
	defer s.net.Close()
	if got := len(s.net.Addresses()); got != 2 {
		t.Fatalf("%d addresses", got)
	}
	for i, taken := range s.net.Addresses() {
		free := []string{"/ip4/127.0.0.1/tcp/0", "/ip4/127.0.0.1/udp/0/quic-v1"}[i]
		key, _ := testKey(t)
		n, err := New(Config{Key: key, Listen: []string{free, taken}}, nil, nil)
		if err == nil {
			_ = n.Close()
			t.Errorf("two sites listen on %s", taken)
			continue
		}
		if !strings.Contains(err.Error(), taken) || !strings.Contains(err.Error(), "in use") {
			t.Errorf("%s in use: %v", taken, err)
		}
	}
}

// What New could not keep it gives back.
func TestFailedNewLeavesNothing(t *testing.T) {
	// Nobody else takes the ports of this address once they are free: what dials gets its own from 127.0.0.1.
	held, err := net.Listen("tcp4", "127.0.77.3:0")
	if err != nil {
		t.Fatal(err)
	}
	taken, err := manet.FromNetAddr(held.Addr())
	if err != nil {
		t.Fatal(err)
	}
	other, err := net.Listen("tcp4", "127.0.77.3:0")
	if err != nil {
		t.Fatal(err)
	}
	free := "/ip4/127.0.77.3/tcp/" + strconv.Itoa(other.Addr().(*net.TCPAddr).Port)
	_ = other.Close()
	key, _ := testKey(t)
	if _, err := New(Config{Key: key, Listen: []string{free, taken.String()}}, nil, nil); err == nil {
		t.Fatal("it listens on an address that is taken")
	}
	_ = held.Close()
	n, err := New(Config{Key: key, Listen: []string{free, taken.String()}}, nil, nil)
	if err != nil {
		t.Fatalf("the addresses are not free again: %v", err)
	}
	_ = n.Close()
}

func TestConfigReportsAllProblems(t *testing.T) {
	_, err := New(Config{Listen: []string{"127.0.0.1:1", "/ip4/127.0.0.1/tcp/0"}, Peers: []string{"/ip4/127.0.0.1/tcp/1"}}, nil, nil)
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, want := range []string{"no key", `"127.0.0.1:1"`, `"/ip4/127.0.0.1/tcp/1"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestAddressesAreDialable(t *testing.T) {
	s := newTestSite(t, testConfig{listen: []string{"/ip4/0.0.0.0/tcp/0"}})
	defer s.net.Close()
	for _, text := range s.net.Addresses() {
		a := multiaddr.StringCast(text)
		if manet.IsIPUnspecified(a) || strings.Contains(text, "/p2p/") {
			t.Errorf("no one can dial %s", a)
		}
	}
}
