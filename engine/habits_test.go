package engine

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestNamedByBody: requests of one path are told apart by what their bodies have.
func TestNamedByBody(t *testing.T) {
	k := &Kind{Operations: []NamedOperation{
		{Name: "start", Method: "POST", Path: "/b/{id}/action", BodyAt: "/start"},
		{Name: "slow", Method: "POST", Path: "/b/{id}/action", BodyAt: "/speed/to", BodyHas: json.RawMessage(`[1,"a"]`)},
		{Name: "fast", Method: "POST", Path: "/b/{id}/action", BodyAt: "/speed/to", BodyHas: json.RawMessage(`2`)},
		{Name: "sink", Method: "POST", Path: "/b/{id}/sink"},
	}}
	for body, want := range map[string]string{
		`{"start":null}`: "start", `{"start":{"now":true},"x":1}`: "start", `{"speed":{"to":[1, "a"]}}`: "slow", `{"speed":{"to":2}}`: "fast",
		`{"speed":{"to":3}}`: "", `{"speed":2}`: "", `{}`: "", "": "", `["start"]`: "", `no JSON`: "",
	} {
		got := ""
		if n := k.Named("POST", "/b/{id}/action", []byte(body)); n != nil {
			got = n.Name
		}
		if got != want {
			t.Errorf("%s is %q, want %q", body, got, want)
		}
	}
	if n := k.Named("POST", "/b/{id}/sink", nil); n == nil || n.Name != "sink" {
		t.Errorf("what is told by its path alone is %v", n)
	}
}

// TestHeadersOfOperations: a catalog may have headers travel with operations, but none that shows who asks or belongs to one request.
func TestHeadersOfOperations(t *testing.T) {
	k := &Kind{Headers: []string{"x-tenant", "X-Harbour-*", "Authorization", "X-Forwarded-For", "*"}}
	plain := &Kind{}
	for header, want := range map[string][2]bool{ // with a catalog's word, without
		"Content-Type": {true, true}, "X-Tenant": {true, false}, "X-Harbour-Pier": {true, false}, "Tenant": {true, false}, "Authorization": {},
		"Cookie": {}, "X-Auth-Token": {}, "X-Forwarded-For": {}, "If-Match": {}, "Host": {}, "Te": {}, "Content-Length": {}, "Scope": {}, "Skerry-After": {},
		"x-tenant": {}, "X Tenant": {}, "": {},
	} {
		if got := [2]bool{k.Carries(header), plain.Carries(header)}; got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
	many := map[string]string{}
	for c := 'A'; c <= 'Z'; c++ {
		many["X-"+string(c)] = "1"
	}
	for _, wrong := range []map[string]string{many, {"X-Tenant": strings.Repeat("x", maxHeader+1)}, {"X-Tenant": "a\nb"}, {"Cookie": "a"}} {
		if validHeader(wrong) {
			t.Errorf("an operation may have %.80v", wrong)
		}
	}
	if !validHeader(map[string]string{"X-Tenant": "harbour", "Content-Type": "text/plain"}) {
		t.Error("an operation may not have what a catalog may let travel")
	}
}
