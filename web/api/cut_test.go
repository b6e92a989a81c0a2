package api_test

import (
	"fmt"
	"testing"

	"github.com/skerry/skerry/web/webtest"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestACutIsReported(t *testing.T) {
	site := webtest.Generous()
	f := served.Serve(t, site)
	cut := webtest.CutOf(site)
	r := f.Want(200, "GET", "/api/v1/cuts/"+cut, "")
	number := func(of, what string) any { return r[of].(map[string]any)[what] }
	if number("ours", "operations") != 4.0 || number("theirs", "operations") != 2.0 || r["ended"] == nil {
		t.Errorf("who did what: %v, %v", r["ours"], r["theirs"])
	}
	list := func(of string) []any { return r[of].([]any) }
	if l := list("overwritten"); len(l) != 1 || l[0].(map[string]any)["path"] != "/description" || fmt.Sprint(l[0].(map[string]any)["value"]) != "of ada" {
		t.Errorf("overwritten: %v", l)
	}
	if l := list("lost"); len(l) != 1 || l[0].(map[string]any)["change"].(map[string]any)["origin"] != "nantes" || l[0].(map[string]any)["deletion"].(map[string]any)["origin"] != "paris" {
		t.Errorf("lost: %v", l)
	}
	if l := list("deletions"); len(l) != 1 {
		t.Errorf("deletions: %v", l)
	}
	f.Problem(404, "not-found", "remembers no cut", "GET", "/api/v1/cuts/20200101-000000", "")
	if _, body := f.Do("GET", "/api/v1/cuts", ""); len(body) < 100 {
		t.Errorf("cuts: %s", body)
	}
}

func TestHistoryIsCounted(t *testing.T) {
	f := served.Serve(t, webtest.Generous())
	day := f.Want(200, "GET", "/api/v1/history", "")
	if n := len(day["items"].([]any)); n < 700 || day["step_seconds"] != 60.0 {
		t.Errorf("a day of every other minute has %d", n)
	}
	looked := 0
	for _, m := range day["items"].([]any) {
		if m.(map[string]any)["resources"] != nil {
			looked++
		}
	}
	if looked < 700 {
		t.Errorf("at %d of a day's minutes somebody has looked", looked)
	}
	if month := f.Want(200, "GET", "/api/v1/history?span=month", ""); len(month["items"].([]any)) < 23 || month["step_seconds"] != 3600.0 {
		t.Errorf("a month that began yesterday has %d hours", len(month["items"].([]any)))
	}
	f.Problem(400, "bad-request", "give day or month", "GET", "/api/v1/history?span=year", "")
	f.Problem(400, "bad-request", "give a time such as", "GET", "/api/v1/operations?from=yesterday", "")
}
