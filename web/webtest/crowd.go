package webtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// Crowd adds sites and resources, some of them in each state, each conflict with what waits for somebody, and long names among them.
func (s *Site) Crowd(sites, resources int) {
	now := time.Now()
	states := []engine.State{engine.StateConverged, engine.StateConverged, engine.StateConverged, engine.StateConverging, engine.StateDegraded, engine.StateConflict}
	for i := range sites {
		name := engine.SiteName(fmt.Sprintf("edge-%02d", i))
		if i == 0 {
			name = "a-site-with-a-name-of-sixty-three-letters-as-long-as-dns-allows"
		}
		st := engine.SiteStatus{Reachable: i%9 != 0, LastSeen: now.Add(-time.Duration(i%9) * time.Second), RTT: time.Duration(i) * time.Millisecond}
		s.AddMember(name, engine.SiteID("12D3KooW"+string(name)), st)
		b := &engine.Bulletin{At: now.UnixMicro(), Version: "v0.9.0", Dashboard: "https://" + string(name) + ".example/", Resources: map[engine.State]int{engine.StateConverged: 200 + i}}
		if i%5 == 0 {
			b.Operations, b.Oldest = map[engine.State]int{engine.StatePending: i + 1}, now.Add(-time.Minute).UnixMicro()
		}
		if i%17 == 3 {
			b.Decisions = i%4 + 1
		}
		s.SetBulletin(engine.SiteID("12D3KooW"+string(name)), b)
	}
	for i := range resources {
		state := states[i%len(states)]
		reason := ""
		if state == engine.StateConflict {
			reason = "nantes: refused"
		}
		id, label := engine.ResourceID(fmt.Sprintf("many-%05d", i)), fmt.Sprintf("machine %05d", i)
		if i%40 == 7 {
			label = "the-image-that-somebody-has-given-a-name-" + strings.Repeat("which-goes-on-", 4) + label
		}
		document := engine.DocumentID(fmt.Sprintf("%064x", 0xc0de0000+i))
		c := engine.Conflict{ID: engine.ConflictID(fmt.Sprintf("%016x", 0xc0de0000+i)), Document: document, Resource: id, Service: "images", KindName: "image", Site: Nantes,
			Since: now.Add(-time.Minute)}
		switch state {
		case engine.StateConflict:
			c.Kind, c.Status, c.Type, c.Reason = engine.ConflictRefused, 422, engine.TypeMerge, `the application refused this change: it answered "quota of 50 GiB exceeded" (422 Unprocessable Entity)`
			c.Actions = []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop, engine.ActionDismiss}
			s.AddConflict(c)
		case engine.StateDegraded:
			c.Kind, c.Reason, c.Sites = engine.ConflictDrift, "nantes shows another size than the others, and no operation did that", []engine.SiteID{s.Self(), Nantes}
			c.Actions = []engine.Action{engine.ActionKeep, engine.ActionDismiss}
			s.AddConflict(c)
		}
		s.AddResource(engine.ResourceRow{Document: document, ID: id, Label: label, Service: "images", Kind: "image",
			Collaboration: engine.Replication, State: state, Reason: reason, CreatedAt: now, UpdatedAt: now,
			Sites: map[engine.SiteID]engine.ReplicaStatus{s.Self(): {State: engine.StateConverged}, Nantes: {State: state}}})
	}
}
