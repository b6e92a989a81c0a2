package door_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/web/door"
)

// said is a message as it came over a wire.
type said struct {
	head []string // its lines
	raw  string   // what came after it
	body string   // what that means
}

func (s said) without(names ...string) string {
	var kept []string
	for _, line := range s.head {
		name, _, _ := strings.Cut(strings.ToLower(line), ":")
		drop := false
		for _, n := range names {
			drop = drop || n == name
		}
		if !drop {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// heard parts what came over a wire, without what came before an answer.
func heard(raw, body string) said {
	for strings.HasPrefix(raw, "HTTP/1.1 1") {
		_, raw, _ = strings.Cut(raw, "\r\n\r\n")
	}
	head, rest, _ := strings.Cut(raw, "\r\n\r\n")
	return said{strings.Split(head, "\r\n"), rest, body}
}

// echo is an application that tells what it was sent and answers as it was told to.
type echo struct {
	answers chan [2]string // an answer, and "close" when its connection ends with it
	asked   chan said
}

func (e *echo) serve(_ *bufio.Reader, conn net.Conn) {
	for {
		var raw bytes.Buffer
		r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &raw)))
		if err != nil {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		e.asked <- heard(raw.String(), string(body))
		answer := <-e.answers
		pieces(conn, answer[0])
		if answer[1] == "close" {
			return
		}
	}
}

// pieces writes a text in pieces.
func pieces(to io.Writer, text string) {
	for cut := rand.IntN(3); text != ""; cut-- {
		n := len(text)
		if cut > 0 && n > 1 {
			n = 1 + rand.IntN(n-1)
		}
		if _, err := io.WriteString(to, text[:n]); err != nil {
			return
		}
		text = text[n:]
	}
}

// ask sends a request on a connection and returns what comes back.
func ask(t *testing.T, conn net.Conn, method, request string) said {
	t.Helper()
	pieces(conn, request)
	var raw bytes.Buffer
	in := bufio.NewReader(io.TeeReader(conn, &raw))
	for {
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("%v after %q for %q", err, raw.String(), request)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatalf("%v after %q for %q", err, raw.String(), request)
		}
		if resp.StatusCode >= 200 {
			return heard(raw.String(), string(body))
		}
	}
}

// message writes random fields and a random body under a framing.
func message(r *rand.Rand, first, framing string) string {
	var b strings.Builder
	b.WriteString(first + "\r\n")
	fields := []string{}
	for range r.IntN(8) {
		name := "X-" + letters(r, "abcXYZ019-_.!~", 1+r.IntN(12))
		fields = append(fields, name+": "+strings.TrimSpace(letters(r, "abc XYZ019\t\"(),/:;<=>?@[]{}\xc3\xa9", r.IntN(40))))
	}
	body := letters(r, "abc\x00\r\n019", r.IntN(1<<r.IntN(18)))
	switch framing {
	case "length":
		fields = append(fields, anyCase(r, "Content-Length")+fmt.Sprintf(": %d", len(body)))
	case "chunks":
		fields = append(fields, "Transfer-Encoding: chunked")
		body = chunked(r, body)
	case "none":
		body = ""
	}
	if r.IntN(4) == 0 {
		fields = append(fields, anyCase(r, "Connection")+": keep-alive")
	}
	if strings.HasSuffix(first, "HTTP/1.1") {
		fields = append(fields, anyCase(r, "Host")+": some.host:80")
	}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	return b.String() + "\r\n" + body
}

func letters(r *rand.Rand, of string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = of[r.IntN(len(of))]
	}
	return string(b)
}

func anyCase(r *rand.Rand, s string) string {
	return []string{s, strings.ToLower(s), strings.ToUpper(s)}[r.IntN(3)]
}

func chunked(r *rand.Rand, body string) string {
	var b strings.Builder
	for body != "" {
		n := 1 + r.IntN(len(body))
		size := fmt.Sprintf([]string{"%x", "%X", "0%x"}[r.IntN(3)], n)
		if r.IntN(8) == 0 {
			size += ";a=\"b\""
		}
		b.WriteString(size + "\r\n" + body[:n] + "\r\n")
		body = body[n:]
	}
	return b.String() + "0\r\n\r\n"
}

// TestInvariantByteForByte: requests and answers pass as they are, apart from what is for the connection: what an application gets, and what
// a client, is the same with the door between them.
func TestInvariantByteForByte(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	e := &echo{answers: make(chan [2]string, 1), asked: make(chan said, 1)}
	upstream := serving(t, e.serve)
	h := openOn(t, listen(t), door.Limits{}, upstream)
	through := dial(t, h.address).Conn
	of := func(options ...string) string { return options[r.IntN(len(options))] }
	for i := range 2000 {
		method := of("GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "BREW")
		target := "/" + letters(r, "abc/.;,:@!$&'()*+=-_~\"<>[]^`{|}\\", r.IntN(30)) + of("", "?", "?a=b&c=%2F", "?"+letters(r, "ab=&?/", 9), "%2f..%2F")
		request := message(r, method+" "+target+" HTTP/1.1", of("none", "length", "chunks"))
		framing, end := of("length", "chunks", "end", "none"), ""
		status := of("200 OK", "201 Created", "204 No Content", "206 Partial", "304 Not Modified", "404 ", "418 I am a teapot", "500 X", "599 Odd: reason")
		if method == "HEAD" || status[:3] == "204" || status[:3] == "304" {
			framing = "none"
		} else if framing == "none" {
			framing = "length"
		}
		answer := message(r, "HTTP/1.1 "+status, framing)
		if framing == "end" {
			end = "close"
		}
		if r.IntN(8) == 0 {
			answer = message(r, "HTTP/1.1 103 Early", "none") + answer
		}
		direct, err := net.Dial("tcp", upstream)
		if err != nil {
			t.Fatal(err)
		}
		e.answers <- [2]string{answer, end}
		got1 := ask(t, direct, method, request)
		direct.Close()
		asked1 := <-e.asked
		e.answers <- [2]string{answer, end}
		got2 := ask(t, through, method, request)
		asked2 := <-e.asked
		if a, b := asked1.without("connection"), asked2.without(); a != b || asked1.raw != asked2.raw {
			t.Fatalf("seed %d, %d: %q\nbecame\n%q\nfor the application", seed, i, request, strings.Join(asked2.head, "\r\n")+"\r\n\r\n"+asked2.raw)
		}
		a, b := got1.without("connection", "transfer-encoding"), got2.without("transfer-encoding")
		if a != b || got1.body != got2.body || framing != "end" && got1.raw != got2.raw {
			t.Fatalf("seed %d, %d: %q\nbecame\n%q\nfor the client", seed, i, answer, strings.Join(got2.head, "\r\n")+"\r\n\r\n"+got2.raw)
		}
	}
	if n := h.dialed.Load(); n > 1500 {
		t.Errorf("%d connections were made for 2000 requests", n)
	}
}
