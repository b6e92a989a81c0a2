package kubernetes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// bomb is YAML whose aliases double as often as it says, and would take gigabytes written out.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("metadata:\n  annotations:\n    skerry/scope: x\n    a0: &a0 [y, y, y, y, y, y, y, y, y]\n")
	for i := range levels {
		fmt.Fprintf(&b, "    a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	return b.String()
}

// FuzzWritten looks for the scope that is written in an object, whatever a client sends for one.
func FuzzWritten(f *testing.F) {
	for _, t := range []string{"application/json", "application/yaml"} {
		f.Add(t, []byte(`{"metadata":{"annotations":{"skerry/scope":" {pods: paris} "}}}`))
		f.Add(t, []byte(`{"metadata":{"annotations":{"skerry/scope":1},"ownerReferences":[{"controller":true}]}}`))
	}
	f.Add("application/yaml", []byte(bomb(9)))
	f.Fuzz(func(t *testing.T, media string, body []byte) {
		text := (Dialect{}).WrittenScope(http.Header{"Content-Type": {media}}, body)
		if text != strings.TrimSpace(text) || len(text) > len(body) {
			t.Errorf("%q has the scope %q", body, text)
		}
	})
}
