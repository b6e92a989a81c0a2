package intercept

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/request"
)

// Bodies that never end take no more memory than is given to all, and a client that sends its own at once is served meanwhile.
func TestInvariantSlowBodiesHoldUpNobody(t *testing.T) {
	const room, each = 4 << 20, 900 << 10
	bodies := request.NewBodies(room, time.Hour)
	bodies.Patience = 20 * time.Second
	m := newMeshWith(t, request.Limits{Bodies: bodies}, 0)
	s := m.sites[paris]
	s.resources["i"] = engine.ResourceRow{ID: "i", Local: "i", Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {}, nantes: {}}}
	for range 40 {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			w := bufio.NewWriter(c)
			fmt.Fprintf(w, "PUT /images/i HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{\"a\":\"", each+100)
			_, _ = w.WriteString(strings.Repeat("x", each))
			_ = w.Flush()
		}()
	}
	for bodies.Free() > room/4 { // they have come in
		runtime.Gosched()
	}
	s.do("PUT", "/images/i", `{"a":"`+strings.Repeat("y", each)+`"}`, "Content-Type: application/json").want(t, 201)
}

// A body that brings nothing for a while is given up.
func TestABodyThatStallsIsGivenUp(t *testing.T) {
	bodies := request.NewBodies(1<<20, 50*time.Millisecond)
	m := newMeshWith(t, request.Limits{Bodies: bodies}, 0)
	s := m.sites[paris]
	for _, length := range []int{100, 4 << 20} { // held, and streamed
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /images HTTP/1.1\r\nHost: x\r\nScope: paris & nantes\r\nContent-Length: %d\r\n\r\n{", length)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != 408 {
			t.Errorf("a body of %d bytes: %v, %v", length, resp, err)
			continue
		}
		resp.Body.Close()
	}
}
