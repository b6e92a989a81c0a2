//go:build openstack

package openstack

import (
	"testing"
	"time"

	"github.com/skerry/skerry/testnet/env"
)

// TestDemo pastes the walk-through of the demo with Glance.
func TestDemo(t *testing.T) {
	t.Parallel()
	env.Shows(t, env.Walk(t, 10*time.Minute, program, nil, "--app", "glance"),
		`debian\n3000000\nactive|debian\nactive\n3000000`, `the same bytes`, `alpine`, `still the same bytes`,
		`Debian 12 +image.image`, `checked`, `Debian 12`, `local`, // what waits for nantes, then both changes, then what is at nantes alone
		`(?s)\| (Debian 12|alpine|local) .*\| (Debian 12|alpine|local) .*\| (Debian 12|alpine|local) `, `(?m)^active$`)
}
