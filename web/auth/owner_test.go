package auth

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Where only the agent's own user may come in over loopback, another user's process does not, nor one that has gone, nor whoever a proxy
// speaks for.
func TestInvariantOnlyTheOwnUserComesInOverLoopback(t *testing.T) {
	g, err := New(Config{Own: true, Store: noKeys{}, Secret: []byte("s"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, err := g.Identify(r)
			if err != nil || p.Role != Admin {
				w.WriteHeader(http.StatusUnauthorized)
			}
		}))
		s.Listener.Close()
		s.Listener, s.Config.ConnContext = l, WithOwner
		s.Start()
		defer s.Close()
		for header, want := range map[string]int{"X": 200, "X-Forwarded-For": 401, "Forwarded": 401} {
			r, _ := http.NewRequest(http.MethodGet, s.URL, nil)
			r.Header.Set(header, "for=127.0.0.1")
			resp, err := http.DefaultClient.Do(r)
			if err != nil || resp.StatusCode != want {
				t.Fatalf("this user with %s: %v, %v", header, resp, err)
			}
			resp.Body.Close()
		}
		curl, err := exec.LookPath("curl")
		if err != nil || syscall.Getuid() != 0 {
			continue // nobody else to ask as
		}
		cmd := exec.Command(curl, "-s", "-g", "-o", "/dev/null", "-w", "%{http_code}", s.URL)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "401" {
			t.Errorf("another user gets %s, %v", out, err)
		}
	}
	// A socket that was closed counts as root's in the kernel.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c.Close()
	r := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(WithOwner(context.Background(), a))
	if p, err := g.Identify(r); err != nil || p.Role != Anyone {
		t.Errorf("who has gone is %v, %v", p, err)
	}
}
