package openstack

import (
	"reflect"
	"testing"

	"github.com/skerry/skerry/docs/catalogs"
	"github.com/skerry/skerry/glue"
)

// TestCatalogsAgree: what both say of images is the same.
func TestCatalogsAgree(t *testing.T) {
	alone, err := glue.ParseCatalog("glance.yaml", catalogs.Glance)
	if err != nil {
		t.Fatal(err)
	}
	all, err := glue.ParseCatalog("openstack.yaml", catalogs.OpenStack)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(alone.Services[Image], all.Services[Image]) {
		t.Error("glance.yaml and openstack.yaml describe images in two ways")
	}
}
