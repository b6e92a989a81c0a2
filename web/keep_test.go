package web_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestKeep(t *testing.T) {
	f := start(t)
	f.site.AddResource(image("debian", engine.StateDegraded, time.Now()))
	const at = "/api/v1/resources/debian/keep"
	for site, operation := range map[string]string{"paris": "0190a5c2-0000-7000-8000-0000000000aa", "nantes": "0190a5c2-0000-7000-8000-0000000000bb"} {
		if v := f.want(202, "POST", at, `{"site":"`+site+`"}`); v["operation"] != operation {
			t.Errorf("kept %s: %v", site, v)
		}
	}
	f.problem(400, "bad-request", "site is missing", "POST", at, `{}`)
	f.problem(422, "scope-type", "no replica at toulouse", "POST", at, `{"site":"toulouse"}`)
	f.site.SetFault(func(method string) error {
		if method == "Keep" {
			return &engine.Refusal{Status: http.StatusConflict, Type: "contention", Detail: "changed again"}
		}
		return nil
	})
	f.problem(409, "contention", "changed again", "POST", at, `{"site":"paris"}`)
	f.want(202, "POST", at, `{"site":"paris","force":true}`)
}
