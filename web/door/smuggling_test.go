package door_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/web/door"
)

// twofold are requests that servers read in more than one way, after what is published of smuggling: two lengths, lengths that are no
// numbers, codings that hide, names with spaces, lines that go on, lines that end otherwise, chunks that are none.
var twofold = []string{
	// Two framings: CL.TE, TE.CL, and the other order.
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\nGPOST / HTTP/1.1\r\n\r\n0\r\n\r\n",
	// Two lengths, and lists of them.
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\nContent-Length: 7\r\n\r\n12345\r\na",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\nContent-Length: 7\r\n\r\n12345\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 7, 7\r\n\r\n12345\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\ncontent-length: 7\r\n\r\n12345\r\n",
	// Lengths that are no numbers, or not for everybody.
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +7\r\n\r\n12345\r\n", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x7\r\n\r\n12345\r\n", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1_0\r\n\r\n1234567890",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 7 7\r\n\r\n12345\r\n", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 7.0\r\n\r\n12345\r\n",
	// Codings that hide.
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\x00chunked\r\n\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nX: x\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nX: x\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding\r\n : chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer\x2dEncoding\xff: chunked\r\n\r\n0\r\n\r\n", "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n",
	// Lines.
	"GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", "GET / HTTP/1.1\r\n Host: h\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: h\r\nA\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA b: c\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA\t: c\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: h\r\nA(b): c\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA: \x00\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA: b\rc\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nA: \x7f\r\n\r\n",
	"\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
	// The first line.
	"GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /  HTTP/1.1\r\nHost: h\r\n\r\n", "GET / x HTTP/1.1\r\nHost: h\r\n\r\n", "GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n", " GET / HTTP/1.1\r\nHost: h\r\n\r\n",
	"GET / HTTP/1.1 \r\nHost: h\r\n\r\n", "GET / HTTP/11\r\nHost: h\r\n\r\n", "GET / http/1.1\r\nHost: h\r\n\r\n", "GET /\r\nHost: h\r\n\r\n", "G(T / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\tHTTP/1.1\r\nHost: h\r\n\r\n",
	// Whose is it?
	"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "GET / HTTP/1.1\r\nHost: a, b\r\nHost : b\r\n\r\n",
	// Chunks.
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\rXabc\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n+3\r\nabc\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n 3\r\nabc\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcXX0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;a\nb\r\nabc\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;\rx\r\nabc\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\r\nabc\r\n0\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n;a\r\nabc\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA b: c\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n c\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;" + strings.Repeat("x", 300) + "\r\nabc\r\n0\r\n\r\n", "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n",
}

// onefold are requests that look odd, are read in one way, and pass; what the application is to see of each is beside.
var onefold = []struct{ request, seen string }{
	{"GET / HTTP/1.1\r\nhOST:h\r\n\r\n", `GET / ""`},
	{"POST /a HTTP/1.1\r\nHost: h\r\ncontent-LENGTH:  3  \r\n\r\nabc", `POST /a "abc"`},
	{"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 003\r\n\r\nabc", `POST /a "abc"`},
	{"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", `POST /a ""`},
	{"POST /a HTTP/1.1\r\nHost: h\r\n\r\n", `POST /a ""`},
	{"GET /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", `GET /a "abc"`},
	{"DELETE /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", `DELETE /a "abc"`},
	{"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: CHUNKED\r\n\r\n3\r\nabc\r\n0\r\n\r\n", `POST /a "abc"`},
	{"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0003\r\nabc\r\n1\r\nd\r\n00\r\n\r\n", `POST /a "abcd"`},
	{"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b;c=\"d\"\r\nabc\r\n0;e\r\n\r\n", `POST /a "abc"`},
	{"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nContent-Length: 9\r\nHost: evil\r\n\r\n", `POST /a "abc"`},
	{"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1c\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n\r\n0\r\n\r\n", `POST /a "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"`},
	{"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 28\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n", `POST /a "GET /b HTTP/1.1\r\nHost: h\r\n\r\n"`},
	{"GET /a HTTP/1.1\r\nHost: h\r\nContent-Length : 3\r\n\r\n", ""},
	{"GET /a HTTP/1.1\r\nHost: h\r\nX-Content-Length: 9\r\nX-Transfer-Encoding: chunked\r\n\r\n", `GET /a ""`},
	{"GET /a HTTP/1.1\r\nHost: h\r\nContent_Length: 9\r\n\r\n", `GET /a ""`},
	{"GET /a?b=c&d=%0d%0aHost:%20evil HTTP/1.1\r\nHost: h\r\n\r\n", `GET /a?b=c&d=%0d%0aHost:%20evil ""`},
	{"GET /a/../b//c;d=e/%2e%2e/%2f HTTP/1.1\r\nHost: h\r\n\r\n", `GET /a/../b//c;d=e/%2e%2e/%2f ""`},
	{"OPTIONS /a HTTP/1.1\r\nHost: h\r\nX: \xff\xfe\r\n\r\n", `OPTIONS /a ""`},
	{"GET /a HTTP/1.1\r\nHost: h\r\nX:\r\nX:\t\r\n\r\n", `GET /a ""`},
}

// TestInvariantOneReading: what can be read in two ways is refused, its connection is closed, and nothing that stands behind it is taken
// for a request, whatever kind of server the application has. What looks odd and is read in one way is read so by all of them.
func TestInvariantOneReading(t *testing.T) {
	for name, upstream := range servers(t) {
		t.Run(name, func(t *testing.T) {
			h := openOn(t, listen(t), door.Limits{}, upstream)
			passed := 0
			for _, request := range twofold {
				c := dial(t, h.address)
				_, _ = io.WriteString(c, request+"GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n") // which may be closed before it has all
				b, _ := io.ReadAll(c.in)
				answers := string(b)
				if !strings.HasPrefix(answers, "HTTP/1.1 400 ") && !strings.HasPrefix(answers, "HTTP/1.1 501 ") {
					t.Errorf("%q was answered %q", request, answers)
				}
				if strings.Count(answers, "HTTP/1.") > 1 || !strings.Contains(answers, "\r\nConnection: close\r\n") {
					t.Errorf("%q: the connection goes on after %q", request, answers)
				}
			}
			for _, one := range onefold {
				c := dial(t, h.address)
				c.say(one.request + "GET /behind HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
				var got []string
				for len(got) < 3 {
					resp, err := http.ReadResponse(c.in, nil)
					if err != nil {
						break
					}
					b, err := io.ReadAll(resp.Body)
					if err != nil {
						t.Fatalf("%q: %v", one.request, err)
					}
					if resp.StatusCode != http.StatusOK {
						b = []byte(resp.Status)
					} else {
						passed++
					}
					got = append(got, strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(string(b)))
				}
				want := []string{one.seen, `GET /behind ""`}
				if one.seen == "" {
					want = []string{"400 Bad Request"}
				}
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("%q was answered %q, want %q", one.request, got, want)
				}
			}
			if n := had(t, upstream); n != passed {
				t.Errorf("the application was asked %d times, and %d answers have come", n, passed)
			}
		})
	}
}
