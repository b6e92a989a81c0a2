//go:build kubernetes

package kubernetes

import (
	"context"
	"maps"
	"testing"

	"github.com/skerry/skerry/testnet/cluster"
	"github.com/skerry/skerry/testnet/conform"
)

// TestConformance: two clients at both sides of a cut change namespaces and deployments with pairs of operations, server-side apply and a strategic
// merge among them. Direct clients are shown the same in the end, lists in order. make conformance does so with all kinds and all pairs.
func TestConformance(t *testing.T) {
	t.Parallel()
	a := conform.Kubernetes
	a.Bodies = maps.Clone(a.Bodies)
	const namespaces, deployments = cluster.Service + "/namespaces", cluster.Service + "/deployments.apps"
	for _, name := range []string{namespaces, deployments} {
		b := a.Bodies[name]
		b.Fields = b.Fields[:1]
		a.Bodies[name] = b
	}
	report, err := a.Conformance(context.WithoutCancel(t.Context()), program, t.TempDir(), func(c *conform.Conformance) {
		c.Only([]string{namespaces, deployments})
		c.Tell = t.Logf
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range report.Kinds {
		for _, c := range k.Cases {
			if c.Verdict != conform.Same {
				t.Errorf("%s: %s × %s: %s: %s", k.Kind, c.First, c.Second, c.Verdict, c.Why)
			}
		}
		if want := map[string]int{namespaces: 36, deployments: 121}[k.Kind]; len(k.Cases) != want || k.Deleted.Gone != k.Deleted.Of || k.Deleted.Of < len(k.Cases)/2 {
			t.Errorf("%s: %d pairs, want %d; %d of %d are deleted: %v", k.Kind, len(k.Cases), want, k.Deleted.Gone, k.Deleted.Of, k.Deleted.Left)
		}
	}
}
