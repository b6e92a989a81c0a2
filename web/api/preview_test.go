package api_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

func TestPreviewAndConfirm(t *testing.T) {
	f := served.Start(t)
	self := f.Site.Self()
	for i := range 3 {
		r := served.Image(fmt.Sprintf("r%d", i), engine.StateConverging, time.Now())
		st := r.Sites[self]
		st.Held = true
		r.Sites[self] = st
		f.Site.AddResource(r)
	}
	v := f.Want(200, "GET", "/api/v1/sites/paris/preview?limit=2", "")
	if items := v["items"].([]any); len(items) != 2 || v["held"] != 3.0 || v["ran"] != 0.0 || v["waiting"] != 3.0 || v["site"] != "paris" ||
		items[0].(map[string]any)["does"] != "delete" {
		t.Errorf("preview: %v", v)
	}
	if v := f.Want(200, "GET", "/api/v1/sites/nantes/preview", ""); v["site"] != "nantes" {
		t.Errorf("nantes was not asked: %v", v)
	}
	f.Problem(503, "unreachable", "toulouse cannot be reached", "GET", "/api/v1/sites/toulouse/preview", "")
	f.Problem(503, "unreachable", "toulouse cannot be reached; nothing has happened", "POST", "/api/v1/sites/toulouse/confirm", "")
	f.Problem(422, "unknown-site", "lyno", "GET", "/api/v1/sites/lyno/preview", "")
	f.Problem(400, "bad-request", "limit", "GET", "/api/v1/sites/paris/preview?limit=0", "")
	w := httptest.NewRecorder() // a site that shares none of them
	r := httptest.NewRequest("POST", "/api/v1/sites/"+string(self)+"/confirm", nil)
	r.RemoteAddr = string(served.Toulouse)
	if f.Web.Peers().ServeHTTP(w, r); w.Code != 200 || w.Body.String() != `{"site":"paris","confirmed":0}`+"\n" {
		t.Errorf("toulouse confirms: %d %s", w.Code, w.Body)
	}
	if v := f.Want(200, "POST", "/api/v1/sites/paris/confirm", ""); v["confirmed"] != 3.0 {
		t.Errorf("confirmed: %v", v)
	}
}
