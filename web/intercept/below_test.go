package intercept

import (
	"context"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/kubernetes"
	"github.com/skerry/skerry/web/intercept/request"
)

// TestWhatChangesSomethingBelowAReplicaHasItLookedAt: an eviction ends a pod, and the catalog knows nothing of it. What is compared of no replica,
// such as its status, makes nobody look.
func TestWhatChangesSomethingBelowAReplicaHasItLookedAt(t *testing.T) {
	for _, c := range []struct {
		method, path string
		looked       bool
	}{
		{"POST", "/pods/web/eviction", true},
		{"PUT", "/pods/web/ephemeralcontainers", true},
		{"POST", "/pods/web/proxy/deep", true},
		{"PATCH", "/pods/web/status", false},
		{"GET", "/pods/web/log", false},
		{"POST", "/pods/other/eviction", false},
		{"POST", "/elsewhere", false},
	} {
		k := *podKind
		k.OnlyNamed, k.Ignore = true, []engine.Pointer{"/status"}
		s := newMeshIn(t, kubernetes.Dialect{}, &k, request.Limits{}, 0).sites[paris]
		s.resources["web"] = engine.ResourceRow{Service: "images", Kind: "pod", ID: "web", Document: "doc", Collaboration: engine.Replication,
			Sites: map[engine.SiteID]engine.ReplicaStatus{paris: {}, nantes: {}}}
		var looked []engine.DocumentID
		s.handler.Check = func(_ context.Context, id engine.DocumentID) error {
			if len(s.app.asked()) == 0 {
				t.Error("it is looked at before anything has happened")
			}
			looked = append(looked, id)
			return nil
		}
		s.do(c.method, c.path, `{}`, "Content-Type: application/json")
		if got := slices.Equal(looked, []engine.DocumentID{"doc"}); got != c.looked || !got && looked != nil {
			t.Errorf("%s %s: %q is looked at", c.method, c.path, looked)
		}
	}
}
