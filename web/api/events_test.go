package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/web/webtest/served"
)

// stream is an open event stream.
type stream struct {
	t      testing.TB
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

func follow(f *served.Server, path, last string, header ...string) *stream {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), served.Patience)
	f.T.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", f.URL+path, nil)
	if err != nil {
		f.T.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		f.T.Fatalf("%s: %d %s", path, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	return &stream{f.T, bufio.NewScanner(resp.Body), cancel}
}

// next returns the next event, or nil when the stream ended.
func (s *stream) next() map[string]any {
	s.t.Helper()
	for s.lines.Scan() {
		if data, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok {
			var v map[string]any
			if err := json.Unmarshal([]byte(data), &v); err != nil {
				s.t.Fatal(err)
			}
			return v
		}
	}
	return nil
}

func TestEventStreamResumes(t *testing.T) {
	f := served.Start(t)
	for i := range 5 {
		f.Site.AddEvent("operation.accepted", fmt.Sprintf("o%d", i+1), `{"n":1}`)
	}
	s := follow(f, "/api/v1/events", "3")
	e := s.next()
	if e["id"] != "4" || e["specversion"] != "1.0" || e["type"] != "operation.accepted" || e["subject"] != "o4" ||
		e["source"] != "/sites/paris" || e["datacontenttype"] != "application/json" || fmt.Sprint(e["data"]) != "map[n:1]" {
		t.Errorf("got %v", e)
	}
	for _, p := range f.Doc.Check(map[string]any{"$ref": "#/components/schemas/Event"}, e, "$") {
		t.Error(p)
	}
	if e := s.next(); e["id"] != "5" {
		t.Errorf("got %v", e)
	}
	f.Site.AddEvent("site.up", "nantes", ``)
	if e := s.next(); e["id"] != "6" || e["data"] != nil {
		t.Errorf("a new event: %v", e)
	}
}

func TestEventStreamBeginsWithWhatComes(t *testing.T) {
	f := served.Start(t)
	f.Site.AddEvent("site.up", "old", ``)
	s := follow(f, "/api/v1/events", "")
	f.Site.AddEvent("site.up", "new", ``)
	if e := s.next(); e["subject"] != "new" {
		t.Errorf("got %v", e)
	}
	if e := follow(f, "/api/v1/events?after=0", "").next(); e["subject"] != "old" {
		t.Errorf("the whole log begins with %v", e)
	}
	f.Problem(400, "bad-request", "no event's id", "GET", "/api/v1/events?after=x", "")
	f.Problem(400, "bad-request", "no event's id", "GET", "/api/v1/events", "", "Last-Event-ID", "x")
}

func TestEventStreamSaysWhenTheLogWasTrimmed(t *testing.T) {
	f := served.Start(t)
	for range 10 {
		f.Site.AddEvent("site.up", "nantes", ``)
	}
	f.Site.Trim(7)
	s := follow(f, "/api/v1/events", "3")
	if e := s.next(); e["type"] != "log.trimmed" || e["id"] != "7" || fmt.Sprint(e["data"]) != "map[after:3 next:8]" {
		t.Errorf("got %v", e)
	}
	if e := s.next(); e["id"] != "8" {
		t.Errorf("then %v", e)
	}
	if e := follow(f, "/api/v1/events", "7").next(); e["id"] != "8" || e["type"] != "site.up" {
		t.Errorf("nothing is missing after 7: %v", e)
	}
	// A log that never had the event starts from its beginning, and says so.
	if e := follow(f, "/api/v1/events", "99").next(); e["type"] != "log.trimmed" {
		t.Errorf("got %v", e)
	}
}

func TestEventStreamsAreBoundedAndGivenBack(t *testing.T) {
	f := served.Start(t)
	var open []*stream
	token := func() string {
		return "Bearer " + f.Want(201, "POST", "/api/v1/tokens", `{"name":"t","role":"viewer"}`)["token"].(string)
	}
	for range 4 {
		t := token()
		for range 32 {
			open = append(open, follow(f, "/api/v1/events", "", "Authorization", t))
		}
	}
	f.Problem(503, "too-many-streams", "128", "GET", "/api/v1/events", "")
	f.Problem(503, "too-many-streams", "128", "GET", "/api/v1/events", "", "Authorization", token())
	open[0].cancel()
	deadline := time.Now().Add(served.Patience)
	for {
		resp, err := http.Get(f.URL + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		var count string
		for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
			if v, ok := strings.CutPrefix(sc.Text(), "skerry_event_streams "); ok {
				count = v
			}
		}
		resp.Body.Close()
		if count == "127" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s streams are open after one left", count)
		}
	}
	follow(f, "/api/v1/events", "")
}

func TestEventLog(t *testing.T) {
	f := served.Start(t)
	if v := f.Want(200, "GET", "/api/v1/events/log", ""); len(v["items"].([]any)) != 0 || v["next"] != "" {
		t.Errorf("an empty log: %v", v)
	}
	for range 23 {
		f.Site.AddEvent("site.up", "nantes", `{}`)
	}
	f.Site.Trim(2)
	var ids []string
	path := "/api/v1/events/log?limit=9"
	for {
		v := f.Want(200, "GET", path, "")
		for _, e := range v["items"].([]any) {
			ids = append(ids, e.(map[string]any)["id"].(string))
		}
		if v["next"] == "" {
			break
		}
		path = "/api/v1/events/log?limit=9&before=" + v["next"].(string)
	}
	if s := strings.Join(ids, " "); s != "23 22 21 20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 4 3" {
		t.Errorf("listed %s", s)
	}
	f.Problem(400, "bad-request", "before", "GET", "/api/v1/events/log?before=-1", "")
}
