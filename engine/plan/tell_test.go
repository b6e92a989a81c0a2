package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/skerry/skerry/engine"
)

// TestTell: what came of a request is the end of a sentence, without the wrapping that machines need.
func TestTell(t *testing.T) {
	page := "<html>\n <head>\n  <title>409 Conflict</title>\n" +
		" </head>\n <body>\n  <h1>409 Conflict</h1>\n  Image status transition from active to saving is not allowed<br /><br />\n\n </body>\n</html>"
	for _, c := range []struct {
		status            int
		media, body, want string
	}{
		{422, "", "", "it answered 422 Unprocessable Entity"},
		{599, "", "", "it answered 599"},
		{0, "", "the header \"x\" cannot be sent", "the header \"x\" cannot be sent"},
		{409, "text/html; charset=UTF-8", page, `it answered "409 Conflict Image status transition from active to saving is not allowed" (409 Conflict)`},
		{503, "text/plain", "starting\n\tplease wait", `it answered "starting please wait" (503 Service Unavailable)`},
		{403, "application/json", `{"error":"quota of 8 CPUs exceeded"}`, `it answered "quota of 8 CPUs exceeded" (403 Forbidden)`},
		{403, "application/json", `{"kind":"Status","status":"Failure","message":"pods \"a\" is forbidden","reason":"Forbidden"}`, `it answered "pods "a" is forbidden" (403 Forbidden)`},
		{400, "application/json", `{"badRequest":{"code":400,"message":"Invalid imageRef provided."}}`, `it answered "Invalid imageRef provided." (400 Bad Request)`},
		{422, "application/json", `{"errors":[{"detail":"no such size","status":422}]}`, `it answered "no such size" (422 Unprocessable Entity)`},
		{422, "application/json", `{"title":"Unprocessable","detail":"no such size"}`, `it answered "no such size" (422 Unprocessable Entity)`},
		{422, "application/json", `{"code":7}`, `it answered "{"code":7}" (422 Unprocessable Entity)`},
		{422, "", "\xff\x00ä" + strings.Repeat("x", 300), "it answered \"ä" + strings.Repeat("x", 198) + "…\" (422 Unprocessable Entity)"},
	} {
		r := engine.Reply{Status: c.status, Header: http.Header{"Content-Type": {c.media}}, Body: []byte(c.body)}
		if got := Tell(r, nil); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.status, c.body, got, c.want)
		}
	}
	for want, err := range map[string]error{
		"it cannot be reached":                       engine.ErrUnreachable,
		"it cannot be reached (connection refused)":  fmt.Errorf("call GET /: %w: %w", engine.ErrUnreachable, fmt.Errorf("dial: %w", errors.New("connection refused"))),
		"it did not answer in time":                  fmt.Errorf("call GET /: %w", context.DeadlineExceeded),
		"it closed the connection without an answer": fmt.Errorf("call POST /: %w", io.EOF),
		"the request cannot be sent: x":              fmt.Errorf("%w: x", engine.ErrUnsendable),
		"something else":                             errors.New("something else"),
	} {
		if got := Tell(engine.Reply{}, err); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}

// FuzzTell: whatever an application answers is told in one line of text, within bounds.
func FuzzTell(f *testing.F) {
	for _, body := range []string{"", "no", `{"error":{"message":"no such size"}}`, `{"errors":[{"detail":"x"}]}`, "<html><p>a</p></html>", "\xff\x00\x1b[2J", strings.Repeat("[", 2000)} {
		f.Add(422, "application/json", []byte(body))
		f.Add(500, "text/html", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, media string, body []byte) {
		told := Tell(engine.Reply{Status: status, Header: http.Header{"Content-Type": {media}}, Body: body}, nil)
		if len(told) > toldBytes+100 || !utf8.ValidString(told) || strings.ContainsFunc(told, unicode.IsControl) {
			t.Errorf("told %q", told)
		}
	})
}
