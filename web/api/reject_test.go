package api_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest/served"
)

// TestRejectIsJudgedByTheResource: another site may reject a deletion where it may do to such a resource what that comes to, with those rights.
func TestRejectIsJudgedByTheResource(t *testing.T) {
	f := served.Start(t)
	var asked []engine.Wish
	says := engine.Acceptance{Reason: "rule 1"}
	f.Site.Accept = func(w engine.Wish) engine.Acceptance {
		asked = append(asked, w)
		return says
	}
	for id, of := range map[string]engine.Collaboration{"copied": engine.Replication, "spread": engine.Cross} {
		r := served.Image(id, engine.StateConverging, time.Now())
		r.Document, r.Collaboration = engine.DocumentID("d-"+id), of
		st := r.Sites[f.Site.Self()]
		st.Held = true
		r.Sites[f.Site.Self()] = st
		f.Site.AddResource(r)
		for deletion, state := range map[string]engine.State{"o-" + id: engine.StateHeld, "ran-" + id: engine.StateApplied} {
			o := served.Operation(deletion, id, state)
			o.Document, o.Type = r.Document, engine.TypeDelete
			f.Site.AddOperation(o)
		}
	}
	reject := func(operation string) string {
		t.Helper()
		r := httptest.NewRequest("POST", "/api/v1/sites/"+string(f.Site.Self())+"/reject", strings.NewReader(`{"operations": ["`+operation+`"]}`))
		r.RemoteAddr = string(served.Nantes)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if f.Web.Peers().ServeHTTP(w, r); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
	for _, c := range []struct {
		operation string
		of        engine.Collaboration
		act       engine.Act
	}{
		{"o-copied", engine.Replication, engine.ActChange},
		{"o-spread", engine.Cross, engine.ActChange},
		{"ran-copied", engine.Replication, engine.ActCreate},
		{"ran-spread", engine.Cross, engine.ActCreate},
	} {
		asked = nil
		out := reject(c.operation)
		want := engine.Wish{From: served.Nantes, Service: "images", Kind: "image", Act: c.act, Scope: c.of}
		if len(asked) != 1 || asked[0] != want || !strings.Contains(out, "rule 1; nothing has happened") {
			t.Errorf("%s: asked for %+v, want %+v: %s", c.operation, asked, want, out)
		}
	}
	// What is made again is made by the agent; what is kept needs no rights at the application.
	says = engine.Acceptance{Accepted: true, As: engine.AsUser, Reason: "rule 2"}
	if out := reject("ran-spread"); !strings.Contains(out, "with the rights of the agent") {
		t.Errorf("made again with the rights of users: %s", out)
	}
	if out := reject("o-spread"); !strings.Contains(out, `"back":[{`) {
		t.Errorf("kept with the rights of users: %s", out)
	}
}
