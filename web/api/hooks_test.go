package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/web/webtest/served"
)

// TestHooksGetTheEventsOfTheLog pushes events of a site to a real receiver.
func TestHooksGetTheEventsOfTheLog(t *testing.T) {
	f := served.Start(t)
	got := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var e struct{ Type, Subject, Source string }
		if err := json.Unmarshal(b, &e); err != nil || r.Header.Get("Webhook-Signature") == "" || !strings.HasPrefix(r.Header.Get("Webhook-Id"), "paris-") {
			t.Errorf("%v: %s %v", err, b, r.Header)
		}
		got <- e.Type + " " + e.Subject + " " + e.Source
	}))
	defer receiver.Close()
	f.Site.AddEvent("site.up", "before", `{}`)
	made := f.Want(201, "POST", "/api/v1/hooks", `{"url":"`+receiver.URL+`","events":["operation.*"]}`)
	if !strings.HasPrefix(made["secret"].(string), "whsec_") || made["state"] != "waiting" {
		t.Errorf("got %v", made)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- f.Web.Run(ctx) }()
	f.Site.AddEvent("site.down", "nantes", `{}`)
	f.Site.AddEvent("operation.applied", "o-1", `{"site":"nantes"}`)
	select {
	case e := <-got:
		if e != "operation.applied o-1 /sites/paris" {
			t.Errorf("got %s", e)
		}
	case <-time.After(served.Patience):
		t.Fatal("nothing was delivered")
	}
	id := made["id"].(string)
	for end := time.Now().Add(served.Patience); ; time.Sleep(5 * time.Millisecond) { // until the answer is recorded
		_, b := f.Do("GET", "/metrics", "")
		told := func(line string) bool { return strings.Contains(string(b), strings.ReplaceAll(line, "ID", id)) }
		if told(`skerry_hook_delivered_total{hook="ID"} 1`) && told(`skerry_hook_attempts_total{hook="ID"} 1`) && told(`skerry_hook_failing{hook="ID"} 0`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the metrics do not tell of the delivery:\n%s", b)
		}
	}
	cancel() // what is under way ends first
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if _, b := f.Do("GET", "/api/v1/hooks", ""); strings.Contains(string(b), "whsec_") || !strings.Contains(string(b), receiver.URL) {
		t.Errorf("the list is %s", b)
	}
	f.Want(200, "GET", "/api/v1/hooks/"+id+"/deliveries?limit=5", "")
	f.Problem(400, "bad-request", "http or https", "POST", "/api/v1/hooks", `{"url":"ftp://x"}`)
	f.Want(204, "DELETE", "/api/v1/hooks/"+id, "")
	f.Problem(404, "not-found", "", "DELETE", "/api/v1/hooks/"+id, "")
	f.Problem(404, "not-found", "", "GET", "/api/v1/hooks/"+id+"/deliveries", "")
}
