//go:build openstack

package openstack

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/skerry/skerry/docs/catalogs"
	"github.com/skerry/skerry/testnet/env"
)

// program is the path of skerry, built for this run.
var program string

func TestMain(m *testing.M) { env.Main(m, &program) }

// patience bounds waits for what comes by itself: on a busy machine Glance takes its time.
const patience = 2 * time.Minute

// glances is an application of one Glance a site. Their database is made once for all sites.
func glances(t *testing.T) env.Setup {
	t.Helper()
	database := filepath.Join(t.TempDir(), "glance.db")
	if err := NewGlanceDatabase(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	at := func(dir string) Glance { return Glance{Dir: filepath.Join(dir, "glance"), Address: "127.0.0.1:9292"} }
	return env.Setup{
		Program: program,
		Sites:   []string{"paris", "nantes"},
		Before:  func(dir string) error { return at(dir).Furnish(database) },
		Application: env.Application{
			Catalog:  catalogs.Glance,
			Services: map[string]int{Image: 9292},
			Health:   "/v2/images",
			Command:  func(dir string) []string { return at(dir).Command() },
			Within:   10 * time.Minute,
		},
	}
}
