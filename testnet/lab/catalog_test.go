package lab

import (
	"testing"

	"github.com/skerry/skerry/glue"
)

// TestCatalogIsOneThatAgentsRead keeps the example that everybody copies right.
func TestCatalogIsOneThatAgentsRead(t *testing.T) {
	if _, err := glue.ParseCatalog("lab.yaml", Catalog); err != nil {
		t.Fatal(err)
	}
}
