//go:build kubernetes

package kubernetes

import (
	"os"
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

// TestDemo pastes the walk-through of the demo with Kubernetes.
func TestDemo(t *testing.T) {
	t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	env.Shows(t, env.Walk(t, 5*time.Minute, program, nil, "--app", "kubernetes", "--sites", "2"),
		`purple +2/2`, `purple +2/2`, `purple +3/3`, `registry.example/web:2`, // at both, then both changes at both
		`web +5/5`, `web +8/8`, `web-.*Running`, `nantes cannot be reached`, `web +[4-8]/8`, // one, also through a cut, with what nantes had told
		`blue created`, `yellow created`, `yellow`, `AlreadyExists`,
		`others rely on configmaps default/settings: deployments.apps default/purple`, `composition to cluster.replicasets.apps/default/purple-`)
}
