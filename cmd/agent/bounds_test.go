package agent

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/skerry/skerry/web/intercept/request"
)

func TestConnectionsAreBounded(t *testing.T) {
	b := newConnections(Connections{All: 5, Client: 2}, nil)
	from := func(s string) bool {
		return b.enter(b.clientOf(&net.TCPAddr{IP: net.ParseIP(s), Port: 9}))
	}
	for i, c := range []struct {
		from string
		want bool
	}{{"192.0.2.1", true}, {"192.0.2.1", true}, {"192.0.2.1", false}, {"2001:db8::1", true}, {"2001:db8::ffff", true}, {"2001:db8::2", false},
		{"127.0.0.1", true}, {"127.0.0.1", false}} {
		if got := from(c.from); got != c.want {
			t.Errorf("connection %d, from %s: %t", i, c.from, got)
		}
	}
	b.leave(b.clientOf(&net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 9}))
	if !from("127.0.0.1") || from("127.0.0.1") {
		t.Error("a place that was given back is not there, or there are more")
	}
}

// A proxy that says for whom it asks is not one client; another address of its network is.
func TestAProxyIsNotOneClient(t *testing.T) {
	b := newConnections(Connections{All: 10, Client: 1}, request.Proxies{netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::1/128")})
	for i, c := range []struct {
		from string
		want bool
	}{{"192.0.2.1", true}, {"192.0.2.1", true}, {"192.0.2.2", true}, {"192.0.2.2", false},
		{"2001:db8::1", true}, {"2001:db8::1", true}, {"2001:db8::2", true}, {"2001:db8::3", false}} {
		if got := b.enter(b.clientOf(&net.TCPAddr{IP: net.ParseIP(c.from), Port: 9})); got != c.want {
			t.Errorf("connection %d, from %s: %t", i, c.from, got)
		}
	}
}

// A connection that is one too many is told so and closed, and one that ends makes room for the next.
func TestABoundedListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 3)
	go func() {
		b := &bounded{l, newConnections(Connections{All: 1, Client: 1}, nil), true}
		for {
			c, err := b.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		return c
	}
	first := dial()
	defer first.Close()
	ours := <-accepted
	second := dial()
	defer second.Close()
	if b, err := io.ReadAll(second); err != nil || string(b) != noMore || len(accepted) != 0 {
		t.Errorf("a second connection is told %q, %v", b, err)
	}
	ours.Close()
	ours.Close() // counts once
	third := dial()
	defer third.Close()
	<-accepted
}
