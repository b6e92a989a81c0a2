package draft

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skerry/skerry/glue"
)

var update = flag.Bool("update", false, "write the golden catalogs anew: read the difference")

func TestDrafts(t *testing.T) {
	for file, kinds := range map[string]int{"fleet.yaml": 3, "notes.json": 3, "clusters.json": 3,
		"public/alertmanager.json": 0, "public/argo-cd.json": 4, "public/firecracker.json": 0, "public/gotify.json": 1, "public/harbor.json": 4, "public/hydra.json": 5,
		"public/influxdb.json": 6, "public/memos.json": 4, "public/moby.json": 0, "public/petstore.json": 3} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		d, err := From(b, Options{Application: "sea"})
		if err != nil || d.Kinds != kinds {
			t.Errorf("%s: %d kinds, %v", file, d.Kinds, err)
		}
		golden := filepath.Join("testdata", file+".golden")
		if *update {
			if err := os.WriteFile(golden, d.YAML, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || string(want) != string(d.YAML) {
			t.Errorf("%s: got\n%s%v", file, d.YAML, err)
		}
		if _, err := glue.ParseCatalog(file, d.YAML); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestIdentifiersOfPublicDocuments: where identifiers stand is what the draft got wrong most often.
func TestIdentifiersOfPublicDocuments(t *testing.T) {
	for file, want := range map[string][]string{
		"petstore": {"pet /id", "user /username", "order /id"},
		"hydra":    {"client /client_id", "issuer /id"},
		"harbor":   {"project /name", "user /user_id", "registry /id"},
		"influxdb": {"label /label/id", "bucket /id"},
		"argo-cd":  {"project /metadata/name"},
	} {
		b, err := os.ReadFile(filepath.Join("testdata", "public", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		d, err := parse(b)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, k := range d.find().kinds {
			got[k.name+" "+k.at] = true
		}
		for _, w := range want {
			if !got[w] {
				t.Errorf("%s: %s is not among %v", file, w, got)
			}
		}
	}
}

func TestWhatIsNoDocument(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "expected a document",
		"[]":                                "no YAML",
		"{":                                 "no JSON",
		"openapi: 4.0.0":                    "expected a document",
		"openapi: 3.0.0":                    "no paths",
		"swagger: '2.0'\npaths: []":         "no paths",
		"swagger: 2.0\npaths: {}\nx: [":     "no YAML",
		"openapi: 3.0.0\npaths: {}\n---\n1": "",
	} {
		if _, err := From([]byte(text), Options{}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := From([]byte(`{"swagger":"2.0","paths":{}}`), Options{Service: "a b"}); err == nil || !strings.Contains(err.Error(), "is no name") {
		t.Errorf("got %v", err)
	}
}

// FuzzFrom looks for documents whose draft is no catalog.
func FuzzFrom(f *testing.F) {
	for _, file := range []string{"fleet.yaml", "notes.json", "clusters.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("swagger: '2.0'\nbasePath: /v%d9//x\npaths: {/things: {get: {}, post: {}}, \"/things/{id}\": {get: {}}}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := From(b, Options{}); err != nil && strings.Contains(err.Error(), "a fault of the importer") {
			t.Error(err)
		}
	})
}
