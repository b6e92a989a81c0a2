package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestRestore(t *testing.T) {
	f := served.Start(t)
	f.Site.AddResource(served.Image("debian", engine.StateConverged, time.Now()))
	const at = "/api/v1/resources/debian/restore"
	if v := f.Want(202, "POST", at, `{"path":"/name","from":"0190a5c2-0000-7000-8000-000000000001"}`); v["operation"] != "0190a5c2-0000-7000-8000-0000000000cc" {
		t.Errorf("restored: %v", v)
	}
	f.Problem(400, "bad-request", "give a JSON pointer", "POST", at, `{"path":"name"}`)
	f.Problem(400, "bad-request", "give a JSON pointer", "POST", at, `{}`)
	f.Problem(409, "restore", "the application refuses the value with status 422: no such size", "POST", at, `{"path":"/refused"}`)
	f.Problem(404, "not-found", "nothing", "POST", "/api/v1/resources/nothing/restore", `{"path":"/name"}`)
	f.Site.SetFault(func(method string) error {
		if method == "Restore" {
			return &engine.Refusal{Status: http.StatusNotFound, Type: "restore", Detail: "no value was lost"}
		}
		return nil
	})
	f.Problem(404, "restore", "no value was lost", "POST", at, `{"path":"/name"}`)
}
