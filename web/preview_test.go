package web_test

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestPreviewAndConfirm(t *testing.T) {
	f := start(t)
	self := f.site.Self()
	for i := range 3 {
		r := image(fmt.Sprintf("r%d", i), engine.StateConverging, time.Now())
		st := r.Sites[self]
		st.Held = true
		r.Sites[self] = st
		f.site.AddResource(r)
	}
	v := f.want(200, "GET", "/api/v1/sites/paris/preview?limit=2", "")
	if items := v["items"].([]any); len(items) != 2 || v["held"] != 3.0 || v["waiting"] != 3.0 || v["site"] != "paris" ||
		items[0].(map[string]any)["does"] != "delete" {
		t.Errorf("preview: %v", v)
	}
	if v := f.want(200, "GET", "/api/v1/sites/nantes/preview", ""); v["site"] != "nantes" {
		t.Errorf("nantes was not asked: %v", v)
	}
	f.problem(503, "unreachable", "toulouse cannot be reached", "GET", "/api/v1/sites/toulouse/preview", "")
	f.problem(503, "unreachable", "toulouse cannot be reached; nothing has happened", "POST", "/api/v1/sites/toulouse/confirm", "")
	f.problem(422, "unknown-site", "lyno", "GET", "/api/v1/sites/lyno/preview", "")
	f.problem(400, "bad-request", "limit", "GET", "/api/v1/sites/paris/preview?limit=0", "")
	w := httptest.NewRecorder() // a site that shares none of them
	r := httptest.NewRequest("POST", "/api/v1/sites/"+string(self)+"/confirm", nil)
	r.RemoteAddr = string(toulouse)
	if f.server.Peers().ServeHTTP(w, r); w.Code != 200 || w.Body.String() != `{"site":"paris","confirmed":0}`+"\n" {
		t.Errorf("toulouse confirms: %d %s", w.Code, w.Body)
	}
	if v := f.want(200, "POST", "/api/v1/sites/paris/confirm", ""); v["confirmed"] != 3.0 {
		t.Errorf("confirmed: %v", v)
	}
}
