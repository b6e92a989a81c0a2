package intercept

import (
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/intercept/peer"
)

// TestWhatOthersRelyOnIsKept deletes what a server relies on: refused with the list, unless it is forced.
func TestWhatOthersRelyOnIsKept(t *testing.T) {
	m := newMesh(t)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "6", nantes: "42"})
	s := m.sites[paris]
	server := func(target engine.ResourceID) []engine.ResourceRow {
		return []engine.ResourceRow{{Service: "servers", Kind: "server", ID: "web", Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {}, nantes: {}},
			Relations: []engine.Relation{{Target: engine.Target{Service: "images", Kind: "image", ID: target}, At: "/disk", Type: engine.RelationReliance}}}}
	}
	s.relying = map[string][]engine.ResourceRow{"M": server("M"), "mine": server("mine")}
	for _, id := range []string{"M", "mine"} {
		a := s.do("DELETE", "/images/"+id, "")
		a.want(t, 409, "Content-Type: application/problem+json", "Skerry-Site: paris")
		for _, part := range []string{"/problems/relied-on", "server web (at nantes, paris, through /disk)", `"relied_on_by":[{"service":"servers"`} {
			if !strings.Contains(a.body, part) {
				t.Errorf("%s: no %s in %s", id, part, a.body)
			}
		}
	}
	s.do("DELETE", "/images/other", "").want(t, 200)
	if n := len(s.operations()) + len(s.app.asked()) - 1; n != 0 {
		t.Errorf("%d requests went on", n)
	}
	s.do("DELETE", "/images/M", "", "Skerry-Force: actions, relied-on").want(t, 201)
	if ops := s.operations(); len(ops) != 1 || !ops[0].ForcedReliance {
		t.Errorf("forced: %+v", ops)
	}
	s.do("DELETE", "/images/mine", "", "Skerry-Force: relied-on").want(t, 200)
	if got := s.app.asked(); len(got) != 2 || got[1].header.Get("Skerry-Force") != "" {
		t.Errorf("the application was asked %+v", got)
	}
}

// A container that holds replicas is kept likewise.
func TestWhatHoldsReplicasIsKept(t *testing.T) {
	s := newMesh(t).sites[paris]
	s.holding = map[string][]engine.ResourceRow{"net": {{Service: "images", Kind: "port", ID: "net/p", Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {}, nantes: {}}}}}
	a := s.do("DELETE", "/images/net", "")
	a.problem(t, 409, "relied-on")
	for _, part := range []string{"port net/p (at nantes, paris, inside it)", `"relied_on_by":[{"service":"images","kind":"port","id":"net/p","at":""`} {
		if !strings.Contains(a.body, part) {
			t.Errorf("no %s in %s", part, a.body)
		}
	}
	if len(s.app.asked()) != 0 {
		t.Error("the application was asked")
	}
	s.do("DELETE", "/images/net", "", "Skerry-Force: relied-on").want(t, 200)
}

// TestReliedOnElsewhere has another site's agent ask for the deletion: what is relied on here is kept all the same, and a
// caller's force comes along.
func TestReliedOnElsewhere(t *testing.T) {
	m := newMesh(t)
	there := m.sites[nantes]
	there.relying = map[string][]engine.ResourceRow{"theirs": {{Service: "servers", Kind: "server", ID: "web"}}}
	agent := []string{"X-Test-From: " + string(paris), "Skerry-Service: images", "Skerry-Placement: " + string(nantes), "Skerry-Via: " + string(paris)}
	send(t, there.peers.URL, "DELETE", "/images/theirs", "", agent...).want(t, 409, "Skerry-Site: nantes")
	if n := len(there.app.asked()) + len(there.operations()); n != 0 {
		t.Errorf("%d requests went on", n)
	}
	f := peer.NewForwarder(m.sites[paris], m.sites[paris], 0)
	r := engine.Request{Kind: imageKind, Type: engine.TypeDelete, Method: "DELETE", Path: "/images/{id}", Target: "theirs", Operation: "o-1",
		Placement: []engine.SiteID{nantes}}
	if a, err := f.Forward(t.Context(), nantes, r); err != nil || a.Status != 409 {
		t.Errorf("%d %v", a.Status, err)
	}
	r.ForcedReliance = true
	if a, err := f.Forward(t.Context(), nantes, r); err != nil || a.Status >= 300 || len(there.operations()) != 1 {
		t.Errorf("forced: %d %v", a.Status, err)
	}
}
