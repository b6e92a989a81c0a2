package intercept

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/peer"
)

func TestPeers(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s := m.sites[paris]
	from := func(headers ...string) []string { return append(headers, "X-Test-From: QmNantes") }
	post := func(headers ...string) answer {
		return send(t, s.peers.URL, "POST", "/images", `{}`, headers...)
	}
	post("Skerry-Service: images", "X-Test-From: QmStranger").problem(t, 403, "stranger")
	post(from("Skerry-Service: nothing")...).problem(t, 422, "unknown-service")
	post(from("Skerry-Service: images", "Skerry-Via: QmLyon, QmParis")...).problem(t, 508, "loop")
	post(from("Skerry-Service: images", "Skerry-Via: a,b,c,d,e,f,g,h,i")...).problem(t, 508, "loop")
	post(from("Skerry-Service: images", "Skerry-Placement: QmNowhere")...).problem(t, 422, "unknown-site")
	send(t, s.peers.URL, "POST", "/elsewhere", `{}`, from("Skerry-Service: images", "Skerry-Operation: op")...).problem(t, 422, "catalog-mismatch")
	if len(s.operations()) != 0 || len(s.app.asked()) != 0 {
		t.Fatal("a refused request ran")
	}
	// With an operation it goes to the engine, even where a client's would pass.
	post(from("Skerry-Service: images", "Skerry-Operation: op-5", "Skerry-Via: QmLyon,QmNantes", "Skerry-Placement: QmParis", "Scope: {images: paris}", "Skerry-User: ann", "Idempotency-Key: k")...).want(t, 201)
	r := s.operations()[0]
	if r.Operation != "op-5" || fmt.Sprint(r.Via) != "[QmLyon QmNantes]" || fmt.Sprint(r.Placement) != "[QmParis]" || r.Scope != "{images: paris}" || r.User != "ann" || r.Key != "" {
		t.Errorf("%+v", r)
	}
	// Without, it passes.
	post(from("Skerry-Service: images", "Skerry-Placement: QmParis")...).want(t, 200, "Skerry-Site: paris")
	if got := s.app.asked(); len(got) != 1 || got[0].header.Get("Skerry-Placement") != "" || got[0].header.Get("Skerry-Service") != "" {
		t.Errorf("%+v", got)
	}
}

func TestForwarder(t *testing.T) {
	m := newMesh(t)
	f := peer.NewForwarder(m.sites[paris], m.sites[paris], 0)
	since := time.UnixMicro(1767225600000001)
	a, err := f.Forward(t.Context(), nantes, engine.Request{
		Operation: "op-3", Since: since, Kind: imageKind, Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}/x%20y", Target: "a/b?", Query: "q=1",
		Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(`{"a":1}`), Placement: []engine.SiteID{nantes, lyon},
		Scope: "{images: nantes & lyon}", User: "ann", Credentials: &engine.Credentials{Header: http.Header{"Authorization": {"Bearer t"}, "Skerry-Via": {"forged"}, "Connection": {"close"}}}, Via: []engine.SiteID{lyon},
	})
	if err != nil || a.Status != 201 || a.Operation != "op-1" || a.Resource != "M" || a.Site != nantes || string(a.Body) != `{"id":"M"}` {
		t.Fatalf("%+v %v", a, err)
	}
	r := m.sites[nantes].operations()[0]
	if r.Operation != "op-3" || !r.Since.Equal(since) || r.Method != "PATCH" || r.Target != "a/b?" || r.Query != "q=1" || string(r.Body) != `{"a":1}` || r.Scope != "{images: nantes & lyon}" ||
		fmt.Sprint(r.Placement) != "[QmNantes QmLyon]" || fmt.Sprint(r.Via) != "[QmLyon QmParis]" || r.User != "ann" || r.Credentials.Header.Get("Authorization") != "Bearer t" || r.Header["Content-Type"] != "application/json" {
		t.Errorf("%+v", r)
	}
	m.sites[paris].cut(nantes)
	if _, err := f.Forward(t.Context(), nantes, engine.Request{Kind: imageKind, Method: "POST", Path: "/images"}); !errors.Is(err, engine.ErrUnreachable) {
		t.Errorf("%v", err)
	}
	if _, err := f.Forward(t.Context(), lyon, engine.Request{Kind: imageKind, Method: "PUT", Path: "/images/{id}", Target: ".."}); err == nil {
		t.Error("a dot segment went out as an identifier")
	}
}
