package netns

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/process"
)

func network(t *testing.T, hosts ...string) *Network {
	t.Helper()
	n, err := New(hosts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// serve answers with the host's name at its port 80, on all its addresses.
func serve(t *testing.T, h *Host) {
	t.Helper()
	var l net.Listener
	var err error
	if inside := h.inside(func() { l, err = net.Listen("tcp4", ":80") }); inside != nil || err != nil {
		t.Fatal(inside, err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, h.Name)
	})}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
}

// get asks one host from another one, with a new connection.
// patience bounds what would never come; a loaded machine may be slow.
const patience = 2 * time.Minute

func get(t *testing.T, from *Host, address string) (string, error) {
	t.Helper()
	return getWithin(t, patience, from, address)
}

func getWithin(t *testing.T, d time.Duration, from *Host, address string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{DialContext: from.DialContext, DisableKeepAlives: true}}
	resp, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

func TestHostsReachEachOtherAndThemselves(t *testing.T) {
	n := network(t, "paris", "nantes")
	paris, nantes := n.Host("paris"), n.Host("nantes")
	serve(t, paris)
	serve(t, nantes)
	for _, c := range []struct {
		from          *Host
		address, want string
	}{
		{paris, nantes.Address, "nantes"},
		{nantes, paris.Address, "paris"},
		{paris, "127.0.0.1", "paris"},
		{nantes, "127.0.0.1", "nantes"},
	} {
		if got, err := get(t, c.from, c.address); got != c.want {
			t.Errorf("from %s at %s: %q, %v; want %q", c.from.Name, c.address, got, err, c.want)
		}
	}
}

func TestCutIsSilentAndHeals(t *testing.T) {
	n := network(t, "paris", "nantes", "toulouse")
	paris, nantes, toulouse := n.Host("paris"), n.Host("nantes"), n.Host("toulouse")
	serve(t, paris)
	serve(t, nantes)
	// A connection from before the cut, over which nothing comes any more and no error either.
	old, err := paris.DialContext(t.Context(), "tcp", nantes.Address+":80")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := nantes.Cut(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(old, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Errorf("writing met %v; a cut is silent", err)
	}
	if err := old.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := old.Read(make([]byte, 1)); n > 0 || err == nil || !os.IsTimeout(err) {
		t.Errorf("reading met %d bytes, %v; want a time-out", n, err)
	}
	if out, err := exec.Command("ip", "-n", nantes.namespace, "link", "show", "eth0").CombinedOutput(); err != nil ||
		strings.Contains(string(out), "NO-CARRIER") {
		t.Errorf("the host notices the cut: %s %v", out, err)
	}
	if got, err := get(t, nantes, "127.0.0.1"); got != "nantes" {
		t.Errorf("inside the host: %q, %v", got, err)
	}
	if got, err := get(t, toulouse, paris.Address); got != "paris" {
		t.Errorf("between the others: %q, %v", got, err)
	}
	if err := nantes.Heal(); err != nil {
		t.Fatal(err)
	}
	if err := old.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(old); !strings.HasSuffix(string(b), "nantes") {
		t.Errorf("the old connection brought %q, %v after the cut", b, err)
	}
}

func TestNetworksDoNotMeet(t *testing.T) {
	a, b := network(t, "paris"), network(t, "paris", "nantes")
	serve(t, a.Host("paris"))
	if got, err := getWithin(t, time.Second, b.Host("nantes"), a.Host("paris").Address); err == nil {
		t.Errorf("one network reached %q of the other", got)
	}
}

func TestCommandsRunOnTheHost(t *testing.T) {
	n := network(t, "paris")
	h := n.Host("paris")
	p, err := process.Start("ip", filepath.Join(t.TempDir(), "log"), h.Command("ip", "-4", "-o", "address")...)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if text := process.Tail(p.Log(), 10); !strings.Contains(text, h.Address) {
		t.Errorf("the command saw %s", text)
	}
}

func TestWhatDeadProcessesLeaveIsRemoved(t *testing.T) {
	left := prefix + "999999999-1-paris" // over the highest process number there can be
	if err := ip("netns", "add", left); err != nil {
		t.Fatal(err)
	}
	network(t)
	if _, err := os.Stat(filepath.Join(directory, left)); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestALongLineTakesItsTime(t *testing.T) {
	n := network(t, "near", "far")
	near, far := n.Host("near"), n.Host("far")
	if err := far.Lengthen(30 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	serve(t, far)
	begin := time.Now()
	if got, err := get(t, near, far.Address); err != nil || got != "far" {
		t.Fatalf("got %q, %v", got, err)
	}
	if took := time.Since(begin); took < 120*time.Millisecond { // to open the connection, and to ask
		t.Errorf("two round trips took %v", took)
	}
	if err := far.Cut(); err != nil {
		t.Fatal(err)
	}
	if got, err := getWithin(t, time.Second, near, far.Address); err == nil {
		t.Errorf("a host that is cut off answers %q", got)
	}
	if err := far.Heal(); err != nil {
		t.Fatal(err)
	}
	if got, err := get(t, near, far.Address); err != nil || got != "far" {
		t.Errorf("after the cut: %q, %v", got, err)
	}
}
