package door

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
)

// What is taken for a request is the same for net/http: as it came in, and as it goes out.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"GET / HTTP/1.1\r\nHost: h\r\n\r\n", "POST /a?b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n", "PUT /%2f HTTP/1.1\r\nhost: h:1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := end(b, 0, true)
		if n == 0 || err != nil {
			return
		}
		var r Request
		if r.read(b[:n]) != nil || r.special {
			return
		}
		for _, head := range [][]byte{b[:n], r.head(nil, "")} {
			same(t, &r, head)
		}
	})
}

func same(t *testing.T, r *Request, head []byte) {
	h, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", head, err)
	}
	length := h.ContentLength
	if len(h.TransferEncoding) > 0 {
		length = -1
	}
	if h.Method != r.Method || h.RequestURI != r.Path+r.Query || h.Host != string(r.Host) && r.Host != nil || length != r.length {
		t.Fatalf("%q: %s %s %q %d here, %s %s %q %d there", head, r.Method, r.Path+r.Query, r.Host, r.length, h.Method, h.RequestURI, h.Host, length)
	}
	here := http.Header{}
	for i := range r.Fields {
		if f := &r.Fields[i]; !f.Is("host") && !f.Is("transfer-encoding") && !f.Drop {
			here.Add(string(f.Name), string(f.Value))
		}
	}
	for name, values := range here {
		if got := h.Header[name]; strings.Join(got, "\n") != strings.Join(values, "\n") {
			t.Fatalf("%q: %s is %q here, %q there", head, name, values, got)
		}
	}
}

// What is taken for an answer goes out so that net/http reads the same.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HTTP/1.0 404\nA: b\n  c\n\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: a, close\r\nA: b\r\n\r\n"} {
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, head bool) {
		n, err := end(b, 0, false)
		if n == 0 || err != nil {
			return
		}
		method := "GET"
		if head {
			method = "HEAD"
		}
		var a answer
		if a.read(b[:n], method, false) != nil {
			return
		}
		out := a.head(nil, nil, false)
		resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(out)), &http.Request{Method: method})
		if err != nil {
			t.Fatalf("net/http refuses %q, which was %q: %v", out, b[:n], err)
		}
		length := resp.ContentLength
		if a.status < 200 || head || a.status == http.StatusNotModified || a.status == http.StatusNoContent {
			length = 0
		}
		if resp.StatusCode != a.status || max(a.length, -1) != length {
			t.Fatalf("%q became %q: %d, %d bytes here, %d, %d bytes there", b[:n], out, a.status, a.length, resp.StatusCode, length)
		}
	})
}

// What is taken for a body in chunks is the same body for net/http, however it comes in.
func FuzzChunks(f *testing.F) {
	for _, s := range []string{"3\r\nabc\r\n0\r\n\r\n", "3;a=b\r\nabc\r\n0\r\nA: b\r\n\r\nGET", "003\r\nabc\r\n00\r\n\r\n", "3\nabc\n0\n\n"} {
		f.Add([]byte(s), uint8(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		whole, used, ok := scanned(t, b, len(b)+1)
		pieces, used2, ok2 := scanned(t, b, int(step)+1)
		if ok != ok2 || ok && (used != used2 || !bytes.Equal(whole, pieces)) {
			t.Fatalf("%q is another body when it comes in pieces of %d", b, int(step)+1)
		}
		if !ok {
			return
		}
		theirs, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(b[:used])))
		ours, err2 := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(append(whole, "\r\n"...))))
		if err != nil || err2 != nil || !bytes.Equal(theirs, ours) {
			t.Fatalf("%q: %q %v, %q %v", b, theirs, err, ours, err2)
		}
	})
}

// scanned returns the chunks of a body that comes in steps.
func scanned(t *testing.T, b []byte, step int) (chunked []byte, used int, ok bool) {
	var c chunks
	for !c.done() {
		if used == len(b) {
			return nil, used, false
		}
		pass, n, err := c.scan(b[used:min(len(b), used+step)])
		if pass > n {
			t.Fatalf("%q: %d of %d bytes pass", b, pass, n)
		}
		if err != nil {
			return nil, used, false
		}
		chunked, used = append(chunked, b[used:used+pass]...), used+n
	}
	return chunked, used, true
}
