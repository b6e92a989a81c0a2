package api_test

import (
	"fmt"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/skerry/skerry/web/api"
)

// TestOpenAPIHasNoEmptyMembers finds texts with a comma that nobody has quoted, which end there in YAML: what comes after is the name of a
// member without a value.
func TestOpenAPIHasNoEmptyMembers(t *testing.T) {
	var root yaml.Node
	if err := yaml.Unmarshal(api.OpenAPI, &root); err != nil {
		t.Fatal(err)
	}
	for _, at := range emptyMembers(&root) {
		t.Error(at)
	}
	var broken yaml.Node
	if err := yaml.Unmarshal([]byte("{type: string, description: One, or two.}"), &broken); err != nil || len(emptyMembers(&broken)) != 1 {
		t.Errorf("a text that ends at its comma is not found: %v", err)
	}
}

func emptyMembers(n *yaml.Node) (at []string) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && c.Kind == yaml.ScalarNode && c.Tag == "!!null" && c.Value == "" {
			at = append(at, fmt.Sprintf("line %d: %q has no value: quote the text", n.Content[i-1].Line, n.Content[i-1].Value))
		}
		at = append(at, emptyMembers(c)...)
	}
	return at
}
