package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/skerry/skerry/web/webtest/served"
)

func TestRestoredAndClonedSites(t *testing.T) {
	f := served.Start(t)
	at := time.Now().Add(-time.Minute)
	f.Site.SetTwin(served.Nantes, at, true)
	_, b := f.Do("GET", "/api/v1/sites", "")
	var sites []map[string]any
	if err := json.Unmarshal(b, &sites); err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		is := s["name"] == "nantes"
		if _, ok := s["rules"].(map[string]any); !ok {
			t.Errorf("%v: rules %v", s["name"], s["rules"])
		}
		if s["cloned"] != is || (s["restored_at"] != nil) != is {
			t.Errorf("%v: cloned %v, restored %v", s["name"], s["cloned"], s["restored_at"])
		}
	}
	found := false
	for _, w := range f.Want(200, "GET", "/api/v1/summary", "")["worries"].([]any) {
		found = found || w.(map[string]any)["state"] == "cloned"
	}
	if !found {
		t.Error("the summary does not worry about it")
	}
}
