package intercept

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/openstack"
	"github.com/skerry/skerry/web/intercept/request"
)

// TestWhatASiteDoesNotAcceptIsRefused has nantes ask paris for all sorts of things. Paris judges what it wants by the key that has asked, and
// nothing of what it does not accept reaches its application or its engine.
func TestWhatASiteDoesNotAcceptIsRefused(t *testing.T) {
	named := *imageKind
	named.ID = engine.IDRule{From: engine.IDFromPath, At: "/id"}
	m := newMeshOf(t, &named, request.Limits{}, 0)
	m.replicate("M", map[engine.SiteID]engine.LocalID{paris: "M", nantes: "M"})
	s := m.sites[paris]
	var wishes []engine.Wish
	lets := engine.Act("")
	s.accepts = func(w engine.Wish) engine.Acceptance {
		wishes = append(wishes, w)
		return engine.Acceptance{Accepted: w.Act == lets, Reason: "paris does not accept " + string(w.Act)}
	}
	const both = "Skerry-Placement: QmParis,QmNantes"
	for _, c := range []struct {
		method, path string
		headers      []string
		act          engine.Act
		scope        engine.Collaboration
	}{
		{"GET", "/images/x", nil, engine.ActRead, engine.Sharing},
		{"GET", "/images", nil, engine.ActRead, engine.Sharing},
		{"GET", "/images", []string{"Skerry-Aggregate: QmParis,QmNantes"}, engine.ActRead, engine.Sharing},
		{"GET", "/images/M", nil, engine.ActRead, engine.Replication},
		{"GET", "/reports", nil, engine.ActRead, engine.Sharing},
		{"POST", "/images", nil, engine.ActCreate, engine.Sharing},
		{"POST", "/images", []string{both}, engine.ActCreate, engine.Replication},
		{"POST", "/images", []string{"Skerry-Placement: QmParis;QmNantes"}, engine.ActCreate, engine.Cross},
		{"POST", "/images", []string{both, "Skerry-Exactly-One: 1"}, engine.ActCreate, engine.ExactlyOne},
		{"PUT", "/images/x", []string{both}, engine.ActCreate, engine.Replication},
		{"PUT", "/images/M", nil, engine.ActChange, engine.Replication},
		{"PUT", "/images/M/file", []string{"Content-Type: application/octet-stream"}, engine.ActChange, engine.Replication},
		{"PATCH", "/images/x", []string{"Content-Type: application/merge-patch+json"}, engine.ActChange, engine.Sharing},
		{"DELETE", "/images/M", nil, engine.ActDelete, engine.Replication},
		{"DELETE", "/images", nil, engine.ActDelete, engine.Sharing},
		{"POST", "/images/x/start", nil, engine.ActAction, engine.Sharing},
	} {
		wishes = nil
		a := send(t, s.peers.URL, c.method, c.path, `{"id":"x"}`, append(c.headers, "Skerry-Service: images", "Skerry-Via: QmLyon", "X-Test-From: QmNantes")...)
		a.problem(t, 403, "not-accepted")
		want := engine.Wish{From: nantes, Service: "images", Kind: "image", Act: c.act, Scope: c.scope}
		if c.path == "/reports" {
			want.Kind = ""
		}
		if len(wishes) != 1 || wishes[0] != want {
			t.Errorf("%s %s %v: judged as %+v, want %+v", c.method, c.path, c.headers, wishes, want)
		}
		if !strings.Contains(fmt.Sprint(a), "paris does not accept "+string(c.act)) {
			t.Errorf("%s %s: %v", c.method, c.path, a)
		}
	}
	// A PUT of what is not known here may make it, or change it.
	lets, wishes = engine.ActCreate, nil
	send(t, s.peers.URL, "PUT", "/images/x", `{"id":"x"}`, "Skerry-Service: images", "X-Test-From: QmNantes").problem(t, 403, "not-accepted")
	if len(wishes) != 2 || wishes[1].Act != engine.ActChange {
		t.Errorf("judged as %+v", wishes)
	}
	if len(s.operations()) != 0 || len(s.app.asked()) != 0 {
		t.Fatal("a refused request ran")
	}
	lets = engine.ActRead
	send(t, s.peers.URL, "GET", "/images/x", "", "Skerry-Service: images", "X-Test-From: QmNantes").want(t, 200)
	// Its own clients are not judged.
	wishes = nil
	send(t, s.url, "POST", "/images", `{"id":"y"}`).want(t, 200)
	if len(wishes) != 0 {
		t.Errorf("a client was judged: %+v", wishes)
	}
}

// TestARefusalOfAnotherSiteReachesTheClient reads at a site that does not accept it.
func TestARefusalOfAnotherSiteReachesTheClient(t *testing.T) {
	m := newMesh(t)
	m.sites[nantes].accepts = func(engine.Wish) engine.Acceptance { return engine.Acceptance{Reason: "nantes does not accept it"} }
	a := send(t, m.sites[paris].url, "GET", "/images/x", "", "Scope: {images: nantes}")
	a.problem(t, 403, "not-accepted")
	if !strings.Contains(fmt.Sprint(a), "nantes does not accept it") || len(m.sites[nantes].app.asked()) > 0 {
		t.Error(a)
	}
}

// TestARefusalHasTheFormOfTheApplication: clients of Kubernetes and of OpenStack read why they are refused, here and at another site.
func TestARefusalHasTheFormOfTheApplication(t *testing.T) {
	refuses := func(engine.Wish) engine.Acceptance { return engine.Acceptance{Reason: "nantes does not accept it"} }
	for name, c := range map[string]struct {
		mesh *mesh
		path string
		want string
	}{
		"Kubernetes": {newClusters(t), "/pods/web", `"kind":"Status"`},
		"OpenStack":  {newMeshRefusing(t, openstack.Refuser{}), "/images/x", `{"error":{"code":403,"message":"nantes does not accept it; nothing has happened"`},
	} {
		c.mesh.sites[nantes].accepts = refuses
		a := send(t, c.mesh.sites[paris].url, "GET", c.path, "", "Scope: {images: nantes}")
		if a.status != http.StatusForbidden || !strings.Contains(a.body, c.want) || !strings.Contains(a.body, "nantes does not accept it") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
		if len(c.mesh.sites[nantes].app.asked()) > 0 {
			t.Errorf("%s: nantes' application was asked", name)
		}
	}
}
