package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestKeep(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("debian", engine.StateDegraded, time.Now()))
	const at = "/api/v1/resources/debian/keep"
	for site, operation := range map[string]string{"paris": "0190a5c2-0000-7000-8000-0000000000aa", "nantes": "0190a5c2-0000-7000-8000-0000000000bb"} {
		if v := f.Want(202, "POST", at, `{"site":"`+site+`"}`); v["operation"] != operation {
			t.Errorf("kept %s: %v", site, v)
		}
	}
	f.Problem(400, "bad-request", "site is missing", "POST", at, `{}`)
	f.Problem(422, "scope-type", "no replica at toulouse", "POST", at, `{"site":"toulouse"}`)
	f.Site.SetFault(func(method string) error {
		if method == "Keep" {
			return &engine.Refusal{Status: http.StatusConflict, Type: "contention", Detail: "changed again"}
		}
		return nil
	})
	f.Problem(409, "contention", "changed again", "POST", at, `{"site":"paris"}`)
	f.Want(202, "POST", at, `{"site":"paris","force":true}`)
}
