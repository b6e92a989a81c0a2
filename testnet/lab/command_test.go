package lab

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestCommandServesUntilItsContextEnds(t *testing.T) {
	c := Command{Images: free(t), Networks: free(t), Servers: free(t), Data: t.TempDir()}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		resp, err := http.Get("http://" + c.Servers + "/servers")
		if err == nil {
			resp.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestCommandNamesTheAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := Command{Images: taken.Addr().String(), Networks: free(t), Servers: free(t), Data: t.TempDir()}
	if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.Images) {
		t.Fatalf("got %v, want an error that names %s", err, c.Images)
	}
}

// free returns an address that was free a moment ago. Nobody else takes it: what dials gets its port from 127.0.0.1.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.77.4:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
