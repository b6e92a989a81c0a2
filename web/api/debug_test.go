package api_test

import (
	"bytes"
	"testing"

	"github.com/skerry/skerry/web/webtest/served"
)

func TestProfilesTakeWhatIsDescribed(t *testing.T) {
	f := served.Start(t)
	const profiles = "/api/v1/debug/profiles/"
	resp, text := f.Do("GET", profiles+"goroutine?debug=2", "")
	if resp.StatusCode != 200 || !bytes.Contains(text, []byte("goroutine ")) || resp.Header.Get("Content-Type") != "text/plain; charset=UTF-8" {
		t.Errorf("goroutines: %s %s %.200s", resp.Status, resp.Header.Get("Content-Type"), text)
	}
	resp, packed := f.Do("GET", profiles+"heap", "")
	if resp.StatusCode != 200 || !bytes.HasPrefix(packed, []byte("\x1f\x8b")) || resp.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("heap: %s %s %.20q", resp.Status, resp.Header.Get("Content-Type"), packed)
	}
	f.Problem(404, "not-found", "there is no profile", "GET", profiles+"none", "")
	f.Problem(400, "bad-request", "", "GET", profiles+"heap?debug=3", "")
	f.Problem(400, "bad-request", "", "GET", profiles+"cpu?seconds=31", "")
	f.Problem(400, "bad-request", "", "GET", profiles+"cpu?second=1", "")
	if v := f.Want(200, "GET", "/api/v1/debug/log-level", ""); v["level"] != "info" {
		t.Errorf("the level is %v", v)
	}
	for _, level := range []string{"debug", "error", "warn"} {
		if v := f.Want(200, "PUT", "/api/v1/debug/log-level", `{"level":"`+level+`"}`); v["level"] != level {
			t.Errorf("the level is %v, want %s", v, level)
		}
	}
	f.Problem(400, "bad-request", "give debug, info, warn or error", "PUT", "/api/v1/debug/log-level", `{"level":"loud"}`)
	if v := f.Want(200, "GET", "/api/v1/debug/configuration", ""); v["Site"] != "paris" {
		t.Errorf("the configuration is %v", v)
	}
}
