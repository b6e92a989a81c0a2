package intercept

import (
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// release is what Helm makes of a revision.
func release(revision string) string {
	return `{"metadata":{"name":"sh.helm.release.v1.web.` + revision + `"}}`
}

// TestWhatIsMadeAgainHereAloneIsWarnedOf: kubectl replace --force deletes at all sites and creates at one. Helm makes an object of each revision.
func TestWhatIsMadeAgainHereAloneIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		name, body, scope string
		collaboration     engine.Collaboration
		state             engine.State
		ago               time.Duration
		warns             string
	}{
		{"made again", `{"metadata":{"name":"web"}}`, "", engine.Replication, engine.StateDeleted, time.Second, "{images: nantes & paris}"},
		{"of a cross", `{"metadata":{"name":"web"}}`, "", engine.Cross, engine.StateDeleted, time.Second, "{images: nantes % paris}"},
		{"another name", `{"metadata":{"name":"other"}}`, "", engine.Replication, engine.StateDeleted, time.Second, ""},
		{"long ago", `{"metadata":{"name":"web"}}`, "", engine.Replication, engine.StateDeleted, time.Hour, ""},
		{"with a scope", `{"metadata":{"name":"web"}}`, "paris", engine.Replication, engine.StateDeleted, time.Second, ""},
		{"after another", release("v3"), "", engine.Replication, engine.StateConverged, time.Hour, "{images: nantes & paris}"},
		{"after one that is gone", release("v3"), "", engine.Replication, engine.StateDeleted, time.Hour, ""},
		{"not the next", release("v4"), "", engine.Replication, engine.StateConverged, time.Hour, ""},
		{"after another, with a scope", release("v3"), "paris", engine.Replication, engine.StateConverged, time.Hour, ""},
		{"in protobuf", "k8s\x00\x0a\x00\x12\x07\x0a\x05\x0a\x03web", "", engine.Replication, engine.StateDeleted, time.Second, "{images: nantes & paris}"},
		{"no JSON", `?`, "", engine.Replication, engine.StateDeleted, time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newClusters(t)
			s := m.sites[paris]
			for _, id := range []string{"web", "sh.helm.release.v1.web.v2"} {
				s.resources[id] = engine.ResourceRow{Service: "images", Kind: "pod", ID: engine.ResourceID(id), Collaboration: c.collaboration, State: c.state, UpdatedAt: time.Now().Add(-c.ago),
					Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {}, nantes: {}}}
			}
			headers := []string{"Content-Type: application/json"}
			if strings.HasPrefix(c.body, "k8s") {
				headers[0] = "Content-Type: application/vnd.kubernetes.protobuf"
			}
			if c.scope != "" {
				headers = append(headers, "Scope: "+c.scope)
			}
			a := s.do("POST", "/pods", c.body, headers...)
			if warned := a.header.Get("Warning"); c.warns == "" && warned != "" || !strings.Contains(warned, c.warns) {
				t.Errorf("warns %q, want %q", warned, c.warns)
			}
			if asked := s.app.asked(); len(asked) != 1 || asked[0].body != c.body {
				t.Errorf("the application was asked %+v", asked)
			}
		})
	}
}
