package door_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/skerry/skerry/web/door"
)

// known is a client of HTTP/2 that knows that it is spoken.
func known() *http.Transport {
	t := &http.Transport{Protocols: new(http.Protocols)}
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// HTTP/2 is taken in clear from who begins with it, and after what was passed of HTTP/1.1 from nobody.
func TestPriorKnowledge(t *testing.T) {
	h := open(t, door.Limits{}, says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	rest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		b, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Proto+" "+r.Method+" "+r.Host+r.RequestURI+" "+string(b))
		w.Header().Set("X-Sum", r.Trailer.Get("X-Client-Sum"))
	})
	h.rest.Store(&rest)
	transport := known()
	defer transport.CloseIdleConnections()
	for range 3 {
		r, _ := http.NewRequest("POST", "http://"+h.address+"/a?b", struct{ io.Reader }{strings.NewReader("body")})
		r.Trailer = http.Header{"X-Client-Sum": {"4"}}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if want := "HTTP/2.0 POST " + h.address + "/a?b body"; err != nil || string(b) != want || resp.Trailer.Get("X-Sum") != "4" {
			t.Errorf("%q %v %v, want %q", b, resp.Trailer, err, want)
		}
	}
}

// Clients of HTTP/2 that never stop asking, over TLS and in clear, lose nothing while a door is left time and again, though what they ask may not
// be asked twice.
func TestLeaveUnderStreams(t *testing.T) {
	donor := httptest.NewTLSServer(nil)
	defer donor.Close()
	for name, secure := range map[string]*tls.Config{"clear": nil, "TLS": {Certificates: donor.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			bare := listen(t)
			over := func(l net.Listener) net.Listener {
				if secure == nil {
					return l
				}
				return tls.NewListener(l, secure)
			}
			upstream := serving(t, says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
			now := newGeneration(t, ctx, "0", upstream, over(bare))
			asking, stop := context.WithCancel(ctx)
			var clients sync.WaitGroup
			answered := make(chan struct{})
			for range 8 {
				clients.Go(func() {
					transport, scheme := known(), "http://"
					if secure != nil {
						transport, scheme = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}, "https://"
					}
					defer transport.CloseIdleConnections()
					for asking.Err() == nil {
						r, _ := http.NewRequestWithContext(ctx, "POST", scheme+bare.Addr().String()+"/x", strings.NewReader("some body"))
						resp, err := transport.RoundTrip(r)
						if err == nil {
							_, err = io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
						if err != nil || resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
							t.Errorf("%v %v", resp, err)
							stop()
							return
						}
						select {
						case answered <- struct{}{}:
						case <-asking.Done():
						}
					}
				})
			}
			for n := 1; n <= 3; n++ {
				for range 50 {
					select {
					case <-answered:
					case <-asking.Done():
					}
				}
				inherited := copyOf(t, bare)
				next := newGeneration(t, ctx, fmt.Sprint(n), upstream, over(inherited))
				now.Leave(ctx, func(h door.Handed) bool {
					h.Before = append([]byte(nil), h.Before...)
					return next.Adopt(ctx, h)
				})
				if err := <-now.ended; err != nil && !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				now, bare = next, inherited
			}
			stop()
			clients.Wait()
		})
	}
}

// frames is a client that writes HTTP/2 frame by frame.
type frames struct {
	*http2.Framer
	t    *testing.T
	conn net.Conn
	head bytes.Buffer
	enc  *hpack.Encoder
}

func speak(t *testing.T, address string) *frames {
	t.Helper()
	conn := dial(t, address).Conn
	f := &frames{t: t, conn: conn, Framer: http2.NewFramer(conn, bufio.NewReader(conn))}
	f.enc = hpack.NewEncoder(&f.head)
	f.AllowIllegalWrites, f.AllowIllegalReads = true, true
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return f
}

// block encodes the fields of a head, pseudo ones among them.
func (f *frames) block(fields ...string) []byte {
	f.head.Reset()
	for _, field := range fields {
		i := strings.Index(field[1:], ":") + 1
		_ = f.enc.WriteField(hpack.HeaderField{Name: field[:i], Value: strings.TrimPrefix(field[i+1:], " ")})
	}
	return f.head.Bytes()
}

var plainHead = []string{":method: GET", ":scheme: http", ":authority: h", ":path: /"}

func (f *frames) headers(id uint32, last bool, fields ...string) {
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.block(fields...), EndStream: last, EndHeaders: true})
}

// outcome is what the server makes of what was said: "answered", "stream CODE", "connection CODE", or "closed".
func (f *frames) outcome() string {
	f.t.Helper()
	for {
		frame, err := f.ReadFrame()
		switch fr := frame.(type) {
		case *http2.GoAwayFrame:
			return "connection " + fr.ErrCode.String()
		case *http2.RSTStreamFrame:
			return "stream " + fr.ErrCode.String()
		case *http2.HeadersFrame:
			_, _ = hpack.NewDecoder(4096, nil).DecodeFull(fr.HeaderBlockFragment())
			return "answered"
		case *http2.PingFrame:
			if fr.IsAck() {
				return "pong " + string(fr.Data[:])
			}
		}
		if err != nil {
			return "closed"
		}
	}
}

// TestFramesOfHTTP2 says frame by frame what RFC 9113 (and 7541 for heads) has a server refuse, and what it has it take, after h2spec's list:
// section by section, as far as one connection shows it.
func TestFramesOfHTTP2(t *testing.T) {
	h := open(t, door.Limits{HeadTimeout: 30 * time.Second}, says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
	rest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "ok")
	})
	h.rest.Store(&rest)
	with := func(fields ...string) []string { return append(append([]string(nil), plainHead...), fields...) }
	for name, c := range map[string]struct {
		say  func(f *frames)
		want string // any of these, with "|" between
	}{
		"a request":                       {func(f *frames) { f.headers(1, true, plainHead...) }, "answered"},
		"4.1 an unknown frame is ignored": {func(f *frames) { _ = f.WriteRawFrame(0x16, 0, 0, []byte("x")); f.headers(1, true, plainHead...) }, "answered"},
		"4.2 a frame larger than allowed": {func(f *frames) {
			f.headers(1, false, plainHead...)
			_ = f.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, 1<<20+1))
		}, "stream FRAME_SIZE_ERROR|connection FRAME_SIZE_ERROR"},
		"4.3 a head that is no HPACK": {func(f *frames) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, EndStream: true, EndHeaders: true})
		}, "connection COMPRESSION_ERROR|closed"},
		"4.3 another frame within a head": {func(f *frames) {
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.block(plainHead...), EndStream: true})
			_ = f.WritePing(false, [8]byte{})
		}, "connection PROTOCOL_ERROR"},
		"5.1 data on a stream that was not begun":     {func(f *frames) { _ = f.WriteData(1, true, nil) }, "connection PROTOCOL_ERROR"},
		"5.1 a reset of a stream that was not begun":  {func(f *frames) { _ = f.WriteRSTStream(1, http2.ErrCodeCancel) }, "connection PROTOCOL_ERROR"},
		"5.1 a window of a stream that was not begun": {func(f *frames) { _ = f.WriteWindowUpdate(1, 100) }, "connection PROTOCOL_ERROR"},
		"5.1 a continuation of nothing":               {func(f *frames) { _ = f.WriteContinuation(1, true, f.block(plainHead...)) }, "connection PROTOCOL_ERROR"},
		"5.1.1 a stream of an even number":            {func(f *frames) { f.headers(2, true, plainHead...) }, "connection PROTOCOL_ERROR"},
		"5.1.1 numbers that fall":                     {func(f *frames) { f.headers(5, true, plainHead...); f.headers(3, true, plainHead...) }, "connection PROTOCOL_ERROR|connection STREAM_CLOSED|answered then connection"},
		"5.3.1 a stream that depends on itself": {func(f *frames) {
			_ = f.WritePriority(1, http2.PriorityParam{StreamDep: 1})
			f.headers(1, true, plainHead...)
		}, "stream PROTOCOL_ERROR|answered"},
		"6.1 data on stream 0": {func(f *frames) { _ = f.WriteData(0, true, nil) }, "connection PROTOCOL_ERROR"},
		"6.1 more padding than frame": {func(f *frames) {
			f.headers(1, false, plainHead...)
			_ = f.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte{9, 1})
		}, "connection PROTOCOL_ERROR"},
		"6.2 a head on stream 0":  {func(f *frames) { f.headers(0, true, plainHead...) }, "connection PROTOCOL_ERROR"},
		"6.4 a reset of stream 0": {func(f *frames) { _ = f.WriteRSTStream(0, http2.ErrCodeCancel) }, "connection PROTOCOL_ERROR"},
		"6.4 a reset of a wrong length": {func(f *frames) {
			f.headers(1, false, plainHead...)
			_ = f.WriteRawFrame(http2.FrameRSTStream, 0, 1, []byte{0, 0, 0})
		}, "connection FRAME_SIZE_ERROR"},
		"6.5 settings on a stream":              {func(f *frames) { _ = f.WriteRawFrame(http2.FrameSettings, 0, 1, nil) }, "connection PROTOCOL_ERROR"},
		"6.5 settings of a wrong length":        {func(f *frames) { _ = f.WriteRawFrame(http2.FrameSettings, 0, 0, []byte{0, 0, 0}) }, "connection FRAME_SIZE_ERROR"},
		"6.5 an acknowledgement with content":   {func(f *frames) { _ = f.WriteRawFrame(http2.FrameSettings, http2.FlagSettingsAck, 0, make([]byte, 6)) }, "connection FRAME_SIZE_ERROR"},
		"6.5.2 push that is neither on nor off": {func(f *frames) { _ = f.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 2}) }, "connection PROTOCOL_ERROR"},
		"6.5.2 a window that is too large":      {func(f *frames) { _ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31}) }, "connection FLOW_CONTROL_ERROR"},
		"6.5.2 frames that are too small":       {func(f *frames) { _ = f.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 16383}) }, "connection PROTOCOL_ERROR"},
		"6.5.2 an unknown setting": {func(f *frames) {
			_ = f.WriteSettings(http2.Setting{ID: 0xff, Val: 1})
			f.headers(1, true, plainHead...)
		}, "answered"},
		"6.7 a ping":                           {func(f *frames) { _ = f.WritePing(false, [8]byte{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}) }, "pong abcdefgh"},
		"6.7 a ping on a stream":               {func(f *frames) { _ = f.WriteRawFrame(http2.FramePing, 0, 1, make([]byte, 8)) }, "connection PROTOCOL_ERROR"},
		"6.7 a ping of a wrong length":         {func(f *frames) { _ = f.WriteRawFrame(http2.FramePing, 0, 0, make([]byte, 6)) }, "connection FRAME_SIZE_ERROR"},
		"6.8 a farewell on a stream":           {func(f *frames) { _ = f.WriteRawFrame(http2.FrameGoAway, 0, 1, make([]byte, 8)) }, "connection PROTOCOL_ERROR"},
		"6.9 a window that grows by nothing":   {func(f *frames) { _ = f.WriteWindowUpdate(0, 0) }, "connection PROTOCOL_ERROR"},
		"6.9.1 a window that grows too far":    {func(f *frames) { _ = f.WriteWindowUpdate(0, 1<<31-1); _ = f.WriteWindowUpdate(0, 1<<31-1) }, "connection FLOW_CONTROL_ERROR"},
		"6.10 a continuation on stream 0":      {func(f *frames) { _ = f.WriteContinuation(0, true, nil) }, "connection PROTOCOL_ERROR"},
		"8.1 a trailer that does not end":      {func(f *frames) { f.headers(1, false, plainHead...); f.headers(1, false, "a: b") }, "stream PROTOCOL_ERROR|connection PROTOCOL_ERROR"},
		"8.2 a name in upper case":             {func(f *frames) { f.headers(1, true, with("X-A: b")...) }, "stream PROTOCOL_ERROR"},
		"8.2.2 a connection of its own":        {func(f *frames) { f.headers(1, true, with("connection: keep-alive")...) }, "stream PROTOCOL_ERROR|answered"},
		"8.2.2 a transfer coding":              {func(f *frames) { f.headers(1, true, with("transfer-encoding: chunked")...) }, "stream PROTOCOL_ERROR|answered"},
		"8.3 a pseudo field that is not known": {func(f *frames) { f.headers(1, true, with(":x: y")...) }, "stream PROTOCOL_ERROR"},
		"8.3 an answer's pseudo field":         {func(f *frames) { f.headers(1, true, with(":status: 200")...) }, "stream PROTOCOL_ERROR"},
		"8.3 a pseudo field after others":      {func(f *frames) { f.headers(1, true, ":method: GET", ":scheme: http", "a: b", ":path: /") }, "stream PROTOCOL_ERROR"},
		"8.3 a pseudo field in a trailer":      {func(f *frames) { f.headers(1, false, plainHead...); f.headers(1, true, ":method: GET") }, "stream PROTOCOL_ERROR|connection PROTOCOL_ERROR"},
		"8.3.1 a path that is empty":           {func(f *frames) { f.headers(1, true, ":method: GET", ":scheme: http", ":authority: h", ":path: ") }, "stream PROTOCOL_ERROR"},
		"8.3.1 no method":                      {func(f *frames) { f.headers(1, true, ":scheme: http", ":authority: h", ":path: /") }, "stream PROTOCOL_ERROR"},
		"8.3.1 no scheme":                      {func(f *frames) { f.headers(1, true, ":method: GET", ":authority: h", ":path: /") }, "stream PROTOCOL_ERROR"},
		"8.3.1 no path":                        {func(f *frames) { f.headers(1, true, ":method: GET", ":scheme: http", ":authority: h") }, "stream PROTOCOL_ERROR"},
		"8.3.1 two methods":                    {func(f *frames) { f.headers(1, true, ":method: GET", ":method: PUT", ":scheme: http", ":path: /") }, "stream PROTOCOL_ERROR"},
		"8.1.1 a length that is another": {func(f *frames) {
			f.headers(1, false, ":method: POST", ":scheme: http", ":authority: h", ":path: /", "content-length: 1")
			_ = f.WriteData(1, true, []byte("ab"))
		}, "stream PROTOCOL_ERROR"},
		"8.4 a push of a client": {func(f *frames) {
			_ = f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, BlockFragment: f.block(plainHead...), EndHeaders: true})
		}, "connection PROTOCOL_ERROR|closed"},
		"3.4 no settings after the preface": {nil, "connection PROTOCOL_ERROR|closed"},
	} {
		t.Run(name, func(t *testing.T) {
			var f *frames
			if c.say == nil {
				conn := dial(t, h.address).Conn
				f = &frames{t: t, conn: conn, Framer: http2.NewFramer(conn, bufio.NewReader(conn))}
				_, _ = io.WriteString(conn, http2.ClientPreface)
				_ = f.WritePing(false, [8]byte{})
			} else {
				f = speak(t, h.address)
				c.say(f)
			}
			got := f.outcome()
			if got == "answered" && strings.Contains(c.want, "answered then") {
				got = "answered then " + strings.Fields(f.outcome())[0]
			}
			for _, want := range strings.Split(c.want, "|") {
				if got == want {
					return
				}
			}
			t.Errorf("%s, want %s", got, c.want)
		})
	}
}
