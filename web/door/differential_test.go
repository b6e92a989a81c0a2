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
	before string   // heads that came before it
	head   []string // its lines
	raw    string   // what came after it
	body   string   // what that means
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

// heard parts what came over a wire.
func heard(raw, body string) said {
	before := ""
	for strings.HasPrefix(raw, "HTTP/1.1 1") {
		head, rest, _ := strings.Cut(raw, "\r\n\r\n")
		before, raw = before+said{head: strings.Split(head, "\r\n")}.without("connection")+"\n\n", rest
	}
	head, rest, _ := strings.Cut(raw, "\r\n\r\n")
	return said{before, strings.Split(head, "\r\n"), rest, body}
}

// reply is what an application says to a request: before it has read the body, if early; and then goes, if last.
type reply struct {
	text        string
	early, last bool
}

// echo is an application that tells what it was sent and answers as it was told to.
type echo struct {
	answers chan reply
	asked   chan said
}

func (e *echo) serve(_ *bufio.Reader, conn net.Conn) {
	for {
		var raw bytes.Buffer
		r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &raw)))
		if err != nil {
			return
		}
		answer := <-e.answers
		if answer.early {
			pieces(conn, answer.text)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		e.asked <- heard(raw.String(), string(body))
		if !answer.early {
			pieces(conn, answer.text)
		}
		if answer.last {
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

// ordinary are fields that mean something to somebody on the way, and that pass.
var ordinary = []string{"Range: bytes=0-1,-1", "If-Range: \"a\"", "Content-Range: bytes 0-1/2", "Accept-Ranges: bytes", "ETag: W/\"b\"", "If-None-Match: *", "Vary: *", "Set-Cookie: a=b", "Set-Cookie: c=d; Path=/",
	"Content-Encoding: gzip", "Accept-Encoding: gzip", "Content-Type: text/event-stream", "Content-Type: multipart/byteranges; boundary=x", "Date: yesterday", "Via: 1.0 x", "Age: 0", "Warning: 299 - \"x\"",
	"Authorization: Basic YTpi", "WWW-Authenticate: Basic", "Cookie: a=b", "Cookie: c=d", "Last-Event-ID: 7", "Cache-Control: no-transform", "Location: /x"}

// message writes random fields and a random body under a framing. What comes after the last chunk is returned beside.
func message(r *rand.Rand, first, framing string) (text, trailer string) {
	var b strings.Builder
	b.WriteString(first + "\r\n")
	fields := some(r)
	body := letters(r, "abc\x00\r\n019", r.IntN(1<<r.IntN(18)))
	switch framing {
	case "length":
		fields = append(fields, anyCase(r, "Content-Length")+fmt.Sprintf(": %d", len(body)))
	case "chunks":
		fields = append(fields, "Transfer-Encoding: chunked")
		if r.IntN(3) == 0 {
			for _, f := range some(r) {
				trailer += f + "\r\n"
			}
		}
		body = chunked(r, body) + trailer + "\r\n"
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
	return b.String() + "\r\n" + body, trailer
}

// some returns random fields.
func some(r *rand.Rand) (fields []string) {
	for range r.IntN(8) {
		if r.IntN(3) == 0 {
			fields = append(fields, ordinary[r.IntN(len(ordinary))])
			continue
		}
		name := "X-" + letters(r, "abcXYZ019-_.!~", 1+r.IntN(12))
		fields = append(fields, name+": "+strings.TrimSpace(letters(r, "abc XYZ019\t\"(),/:;<=>?@[]{}\xc3\xa9", r.IntN(40))))
	}
	return fields
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
	return b.String() + "0\r\n"
}

// TestInvariantByteForByte: requests and answers pass as they are, apart from what is for the connection: what an application gets, and what
// a client, is the same with the door between them.
func TestInvariantByteForByte(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	e := &echo{answers: make(chan reply, 1), asked: make(chan said, 1)}
	upstream := serving(t, e.serve)
	h := openOn(t, listen(t), door.Limits{}, upstream)
	through := dial(t, h.address).Conn
	of := func(options ...string) string { return options[r.IntN(len(options))] }
	early := 0
	for i := range 2000 {
		method := of("GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "BREW")
		target := "/" + letters(r, "abc/.;,:@!$&'()*+=-_~\"<>[]^`{|}\\", r.IntN(30)) + of("", "?", "?a=b&c=%2F", "?"+letters(r, "ab=&?/", 9), "%2f..%2F")
		request, late := message(r, method+" "+target+" HTTP/1.1", of("none", "length", "chunks"))
		framing, answer := of("length", "chunks", "end", "none"), reply{early: r.IntN(8) == 0}
		status := of("200 OK", "201 Created", "204 No Content", "206 Partial", "304 Not Modified", "404 ", "418 I am a teapot", "500 X", "599 Odd: reason")
		if method == "HEAD" || status[:3] == "204" || status[:3] == "304" {
			framing = "none"
		} else if framing == "none" {
			framing = "length"
		}
		for range r.IntN(3) * r.IntN(2) {
			before, _ := message(r, "HTTP/1.1 "+of("103 Early", "102 Processing", "199 Odd"), "none")
			answer.text += before
		}
		last, _ := message(r, "HTTP/1.1 "+status, framing)
		answer.text, answer.last = answer.text+last, framing == "end"
		direct, err := net.Dial("tcp", upstream)
		if err != nil {
			t.Fatal(err)
		}
		e.answers <- answer
		got1 := ask(t, direct, method, request)
		direct.Close()
		asked1 := <-e.asked
		e.answers <- answer
		got2 := ask(t, through, method, request)
		asked2 := <-e.asked
		if answer.early { // who is answered before having said all may have to come again
			early++
			through = dial(t, h.address).Conn
		}
		// What a request says after its last chunk, unannounced, is not passed on.
		if late != "" {
			asked1.raw = strings.TrimSuffix(asked1.raw, late+"\r\n") + "\r\n"
		}
		if a, b := asked1.without("connection"), asked2.without(); a != b || asked1.raw != asked2.raw || asked1.body != asked2.body {
			t.Fatalf("seed %d, %d: %q\nbecame\n%q\nfor the application", seed, i, request, strings.Join(asked2.head, "\r\n")+"\r\n\r\n"+asked2.raw)
		}
		a, b := got1.without("connection", "transfer-encoding"), got2.without("connection", "transfer-encoding")
		if a != b || got1.before != got2.before || got1.body != got2.body || framing != "end" && got1.raw != got2.raw {
			t.Fatalf("seed %d, %d: %q\nbecame\n%q\nfor the client", seed, i, answer.text, got2.before+strings.Join(got2.head, "\r\n")+"\r\n\r\n"+got2.raw)
		}
		if said := got2.without(); !answer.early && strings.Contains(said, "Connection") {
			t.Fatalf("seed %d, %d: the client is told %q", seed, i, said)
		}
	}
	if n := int(h.dialed.Load()) - early; n > 1500 {
		t.Errorf("%d connections were made for 2000 requests", n)
	}
}

// TestInvariantPieceByPiece: whatever an application has said of an answer is with the client before the application says more.
func TestInvariantPieceByPiece(t *testing.T) {
	for _, framing := range []string{"Content-Length: 1000", "Content-Length: 10000000", "Transfer-Encoding: chunked", "Connection: close"} {
		seen := make(chan struct{})
		h := open(t, door.Limits{}, func(in *bufio.Reader, out net.Conn) {
			if _, err := headOf(in); err != nil {
				return
			}
			_, _ = io.WriteString(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"+framing+"\r\n\r\n")
			for range 20 {
				<-seen
				piece := "data: 1\n\n"
				if strings.HasPrefix(framing, "Transfer") {
					piece = "9\r\n" + piece + "\r\n"
				}
				_, _ = io.WriteString(out, piece)
			}
			<-seen
		})
		c := dial(t, h.address).say(get)
		resp, err := http.ReadResponse(c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			seen <- struct{}{}
			b := make([]byte, 9)
			if _, err := io.ReadFull(resp.Body, b); err != nil || string(b) != "data: 1\n\n" {
				t.Fatalf("%s, event %d: %q %v", framing, i, b, err)
			}
		}
		close(seen)
	}
}
