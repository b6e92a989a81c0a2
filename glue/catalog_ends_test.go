package glue

import (
	"strings"
	"testing"
)

func TestCatalogSaysWhatEndsAndWhatLivesAtOneSite(t *testing.T) {
	for text, want := range map[string]struct {
		ends   bool
		in     string // where, and what, it shows that ends
		single string
	}{
		"":               {},
		"remake: always": {},
		"remake: never":  {ends: true},
		"remake: {never-when: [{at: /state/*/is, in: [done, 3]}]}": {in: `/state/*/is ["done" 3]`},
		"replicate: never":                       {single: "each site has its own"},
		"replicate: {never: it is of one place}": {single: "it is of one place"},
	} {
		c, err := ParseCatalog("c.yaml", []byte(catalogOfDisks+"        "+text+"\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		k, in := c.Kind("servers", "server"), ""
		for _, e := range k.EndsIn {
			in += string(e.At) + " ["
			for i, v := range e.In {
				in += strings.Repeat(" ", min(i, 1)) + string(v)
			}
			in += "]"
		}
		if k.Ends != want.ends || in != want.in || k.Single != want.single {
			t.Errorf("%s: ends %t, in %q, single %q", text, k.Ends, in, k.Single)
		}
	}
	for _, text := range []string{"remake: sometimes", "remake: {never-when: [{at: /a}]}", "remake: {}", "replicate: always", "replicate: {why: x}"} {
		if _, err := ParseCatalog("c.yaml", []byte(catalogOfDisks+"        "+text+"\n")); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
