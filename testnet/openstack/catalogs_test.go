package openstack

import (
	"reflect"
	"testing"

	"github.com/skerry/skerry/docs/catalogs"
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// TestCatalogsAgree: what two say of a service is the same.
func TestCatalogsAgree(t *testing.T) {
	all, err := glue.ParseCatalog("openstack.yaml", catalogs.OpenStack)
	if err != nil {
		t.Fatal(err)
	}
	for service, text := range map[engine.ServiceName][]byte{Image: catalogs.Glance, Network: catalogs.Neutron} {
		alone, err := glue.ParseCatalog("catalog.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(alone.Services[service], all.Services[service]) {
			t.Errorf("openstack.yaml and the catalog of the service %s alone describe it in two ways", service)
		}
	}
}
