//go:build openstack

package openstack

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/skerry/skerry/testnet/env"
)

// program is the path of skerry, built for this run.
var program string

func TestMain(m *testing.M) { env.Main(m, &program) }

// image is the service's name in the catalog.
const image = "image"

// glance is OpenStack's image service, with a database and a store of its own at each site, and without Keystone.
func glance(t *testing.T) env.Application {
	t.Helper()
	catalog, err := os.ReadFile("../../docs/catalogs/glance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return env.Application{
		Catalog:  catalog,
		Services: map[string]int{image: 9292},
		Health:   "/v2/images",
		Command: func(dir string) []string {
			own := filepath.Join(dir, "glance")
			return []string{"sh", "-ec", `mkdir -p "$0/store"; printf %s "$1" >"$0/glance.conf"
				glance-manage --config-file "$0/glance.conf" db_sync >"$0/db_sync.log" 2>&1
				glance-api --config-file "$0/glance.conf" & trap 'kill $!; wait $! || exit 0' TERM; wait $!`, own, fmt.Sprintf(configuration, own, own)}
		},
	}
}

const configuration = `[DEFAULT]
bind_host = 127.0.0.1
bind_port = 9292
workers = 0
use_stderr = true
[database]
connection = sqlite:///%s/glance.db
[glance_store]
stores = file
default_store = file
filesystem_store_datadir = %s/store
[paste_deploy]
flavor =
config_file = /etc/glance/glance-api-paste.ini
`
