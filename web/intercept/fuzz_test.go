package intercept

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// FuzzPeerRequest has another site's agent send any bytes for a request: its head and its body. Whatever they are, the connection comes to its
// end, and the application is told neither whom the site says that it asks for, nor what agents tell each other.
func FuzzPeerRequest(f *testing.F) {
	m := newMesh(f)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s := m.sites[paris]
	peers := Peers(s, map[engine.ServiceName]*Handler{"images": s.handler}, http.NotFoundHandler())
	var panicked atomic.Pointer[string]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				text := fmt.Sprintf("%v\n%s", p, debug.Stack())
				panicked.Store(&text)
			}
		}()
		r.RemoteAddr = string(nantes)
		peers.ServeHTTP(w, r)
	}))
	f.Cleanup(server.Close)
	for _, head := range []string{
		"GET /images/M HTTP/1.1\r\nSkerry-Via: QmNantes",
		"POST /images HTTP/1.1\r\nSkerry-Operation: op-5\r\nSkerry-Via: QmLyon,QmNantes\r\nSkerry-Placement: QmParis;QmNantes\r\nScope: {images: paris % nantes}\r\nSkerry-User: ann",
		"PATCH /images/M HTTP/1.1\r\nSkerry-Operation: op-6\r\nSkerry-Agreement: quorum\r\nSkerry-Again: 1\r\nSkerry-Since: 1767225600000001\r\nPrefer: wait=1\r\nContent-Type: application/merge-patch+json",
		"GET /images HTTP/1.1\r\nSkerry-Aggregate: QmParis,QmNantes\r\nSkerry-Page: 1",
		"GET /images/M/file HTTP/1.1\r\nSkerry-Content: 1\r\nSkerry-Gather: 1",
		"PUT /images/M HTTP/1.1\r\nSkerry-One: 1\r\nSkerry-After: x\r\nSkerry-Force: relied-on\r\nIf-Match: *\r\nX-Forwarded-User: root",
		"GET /about HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Forwarded-Prefix: /-/scope",
	} {
		f.Add(head, []byte(`{"name":"a"}`))
	}
	f.Fuzz(func(t *testing.T, head string, body []byte) {
		before := len(s.app.asked())
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Minute)) // it is a bound of what never ends
		_, _ = fmt.Fprintf(conn, "%s\r\nHost: x\r\nSkerry-Service: images\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", head, len(body), body)
		_ = conn.(*net.TCPConn).CloseWrite()
		if _, err := io.Copy(io.Discard, conn); err != nil && err.(net.Error).Timeout() {
			t.Fatalf("it does not end: %v", err)
		}
		if text := panicked.Load(); text != nil {
			t.Fatal(*text)
		}
		for _, r := range s.app.asked()[before:] {
			for name, values := range r.header {
				if strings.HasPrefix(name, "Skerry-") || name == "X-Forwarded-User" || name == "X-Remote-User" {
					t.Fatalf("the application is told %s: %q", name, values)
				}
			}
		}
	})
}
