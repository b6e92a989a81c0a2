package intercept

import (
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestWhatIsMadeAgainHereAloneIsWarnedOf: kubectl replace --force deletes at all sites and creates at one.
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
		{"no JSON", `?`, "", engine.Replication, engine.StateDeleted, time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newClusters(t)
			s := m.sites[paris]
			s.resources["web"] = engine.ResourceRow{Service: "images", Kind: "pod", ID: "web", Collaboration: c.collaboration, State: c.state, UpdatedAt: time.Now().Add(-c.ago),
				Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {}, nantes: {}}}
			headers := []string{"Content-Type: application/json"}
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
