package glue

import (
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue/strictyaml"
)

var updateCatalog = flag.Bool("update-catalog", false, "write the golden report of the catalog anew")

func loadExample(t *testing.T, name string) *Catalog {
	t.Helper()
	c, err := LoadCatalog(filepath.Join("testdata", "catalog", name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCatalogGivesTheEngineItsKinds(t *testing.T) {
	c := loadExample(t, "every-key.yaml")
	if c.Application != "harbour" {
		t.Errorf("the application is %q", c.Application)
	}
	want := &engine.Kind{
		Service: "boats", Name: "boat", Collection: "/v1/boats", Item: "/v1/boats/{id}", Contains: true,
		ID:        engine.IDRule{From: engine.IDFromBody, At: "/id"},
		Ignore:    []engine.Pointer{"/updated_at", "/etag"},
		IgnoreIn:  []engine.IgnoredIn{{At: "/radio", In: "/kind", Equals: "ferry"}},
		Reasons:   map[engine.Pointer]string{"/radio": "the harbour assigns it"},
		Unordered: []engine.Pointer{"/flags"},
		Label:     "/title",
		Sensitive: []engine.Pointer{"/key_code"},
		Refs: []engine.Ref{
			{At: "/berth", Service: "berths", Kind: "berth", Relation: "requirement"},
			{At: "/captain", Service: "people", Kind: "captain", Relation: "reliance"},
			{At: "/log", Service: "boats", Kind: "log", Relation: "composition"},
		},
		Keys:       []engine.Key{{At: "/crew", Member: "name"}},
		Links:      []engine.Link{{At: "/self", Service: "boats"}, {At: "/links/*/href", Service: "berths"}},
		Marker:     "/description",
		MergePatch: true, HonoursKey: true, Content: []engine.Content{{Read: "/v1/boats/{id}/picture", Method: "PUT", Write: "/v1/boats/{id}/picture",
			BusyAt: "/state", Busy: []json.RawMessage{[]byte(`"painting"`), []byte(`2`)}}},
		Operations: []engine.NamedOperation{
			{Name: "cast-off", Method: "POST", Path: "/v1/boats/{id}/cast-off", Repeatable: true, Sets: map[engine.Pointer]json.RawMessage{
				"/moored": json.RawMessage("false"), "/speed": json.RawMessage("0.5"), "/crew": json.RawMessage("[]")}},
			{Name: "moor", Method: "POST", Path: "/v1/boats/{id}/moor", Observed: true},
			{Name: "board", Method: "POST", Path: "/v1/boats/{id}/board", Counter: "/passengers"},
			{Name: "salute", Method: "POST", Path: "/v1/boats/{id}/salute"},
		},
		Resolutions: []engine.Resolution{
			{Before: "cast-off", After: "moor", Take: engine.TakeOne},
			{Before: "board", After: "board", Take: engine.TakeBothAnyOrder},
			{Before: "replace", After: "salute", Take: engine.TakeBothKeepOrder},
		},
		UpdateWins: true, ReplaceWhole: true,
		Divide: []engine.Pointer{"/seats"},
		Aggregate: []engine.Aggregate{{At: "/seats", By: engine.AggregateSum}, {At: "/flags", By: engine.AggregateUnion},
			{At: "/notes", By: engine.AggregateConcat}, {At: "/name", By: engine.AggregateFirst}},
	}
	if got := c.Kind("boats", "boat"); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if berth := c.Kind("berths", "berth"); !berth.Natural() || berth.MergePatch || berth.HonoursKey {
		t.Errorf("the berth is %+v", berth)
	}
	if crate := c.Kind("boats", "crate"); crate.Within != "boat" || crate.Unique != "/label" || !slices.Equal(crate.UniqueExcept, []string{"spare-*"}) {
		t.Errorf("the crate is %+v", crate)
	}
	if seal := c.Kind("boats", "seal"); seal.Within != "crate" {
		t.Errorf("the seal is %+v", seal)
	}
	if captain := c.Kind("people", "captain"); !captain.Natural() {
		t.Errorf("the captain is %+v", captain)
	}
	if c.Kind("boats", "berth") != nil || c.Kind("ships", "boat") != nil {
		t.Error("there is a kind that the catalog does not have")
	}
	if w := c.Services["weather"]; w == nil || len(w.Kinds) != 0 || w.Glue != "http" {
		t.Errorf("weather is %+v", w)
	}
	if names := slices.Sorted(maps.Keys(c.Services)); len(names) != 4 {
		t.Errorf("the services are %v", names)
	}
}

func TestCatalogKeepsTheOtherRules(t *testing.T) {
	c := loadExample(t, "every-key.yaml")
	boat := c.Kind("boats", "boat")
	r := c.Rules(boat)
	if v := r.Visibility; v.Scope != VisibilityLocalWhen || v.At != "/mooring/type" || string(v.Equals) != `"fixed"` {
		t.Errorf("the visibility is %+v", v)
	}
	if list := c.List(boat); list == nil || *list != (List{Items: "/boats", Next: "/next"}) {
		t.Errorf("lists are %+v", list)
	}
	if list := c.List(c.Kind("boats", "log")); list == nil || *list != (List{Items: "/items", Page: "page", Watch: "watch", Deletes: true}) {
		t.Errorf("lists of logs are %+v", list)
	}
	if paths := c.Kind("boats", "log").Lists; !slices.Equal(paths, []string{"/v1/logs/full"}) {
		t.Errorf("lists of logs are at %q, too", paths)
	}
	if list := c.List(c.Kind("berths", "berth")); list != nil {
		t.Errorf("lists of berths are declared as %+v", list)
	}
	if want := (engine.Content{Read: "/v1/boats/{id}/picture", Method: "PUT", Write: "/v1/boats/{id}/picture",
		BusyAt: "/state", Busy: []json.RawMessage{[]byte(`"painting"`), []byte(`2`)}}); len(boat.Content) != 1 || !reflect.DeepEqual(boat.Content[0], want) {
		t.Errorf("the content is %v", boat.Content)
	}
	if got := c.Rules(c.Kind("boats", "log")).Visibility.Scope; got != VisibilityLocal {
		t.Errorf("logs are %q", got)
	}
	if got := c.Rules(c.Kind("people", "captain")).Visibility.Scope; got != VisibilityGlobal {
		t.Errorf("captains are %q", got)
	}
}

// TestCatalogReport reads a catalog with a bit of everything that can be wrong.
func TestCatalogReport(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "catalog", "wrong.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ParseCatalog("wrong.yaml", b)
	var problems *strictyaml.Error
	if !errors.As(err, &problems) {
		t.Fatalf("got %v", err)
	}
	got, golden := err.Error()+"\n", filepath.Join("testdata", "catalog", "wrong.golden")
	if *updateCatalog {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCatalogWithoutServices(t *testing.T) {
	for text, want := range map[string]string{
		"application: a":                              `c.yaml:1:1: the catalog has no key "services"`,
		"application: a\nservices: {}":                `c.yaml:2:1: the application has no service`,
		"application: {}\nservices: {a: {}}":          "c.yaml:1:14: expected a string, found a mapping",
		"application: a/b\nservices: {a: {}}":         `c.yaml:1:14: "a/b" is no name`,
		"application: a\nservices: {\"~scope\": {}}":  `c.yaml:2:12: "~scope" is no name`,
		"application: a\nservices: {a: {kinds: 1}}":   "c.yaml:2:23: expected a mapping, found the number 1",
		"application: a\nservices: {a: {glue: htpt}}": `did you mean "http"?`,
	} {
		if _, err := ParseCatalog("c.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", text, err, want)
		}
	}
}

func TestKindsOfNamesWithDotsAreFound(t *testing.T) {
	c, err := ParseCatalog("c.yaml", []byte(`
application: a
services:
  a.b:
    kinds:
      c:
        {collection: /c, item: "/c/{id}", id: {from: path}, refs: [{at: /d, to: a.b.c.d, relation: reliance}]}
      c.d: {collection: /d, item: "/d/{id}", id: {from: path}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if ref := c.Kind("a.b", "c").Refs[0]; ref.Service != "a.b" || ref.Kind != "c.d" {
		t.Errorf("the reference is %+v", ref)
	}
}

func TestDigestIsOfTheContent(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		c, err := ParseCatalog("c.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return c.Digest
	}
	first := digest("application: a\nservices:\n  x: {}\n  y: {glue: http}\n")
	if len(first) != 64 {
		t.Errorf("the digest is %q", first)
	}
	if again := digest("# another layout\nservices: {\"y\": {glue: 'http'}, x: {}}\napplication: a"); again != first {
		t.Error("layout, comments and the order of keys change the digest")
	}
	if other := digest("application: a\nservices: {x: {}, z: {glue: http}}"); other == first {
		t.Error("two catalogs have one digest")
	}
}

func TestLoadCatalogSaysWhichFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := LoadCatalog(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

// FuzzParseCatalog looks for a catalog that makes reading panic, or that is accepted and breaks what kinds promise.
func FuzzParseCatalog(f *testing.F) {
	for _, name := range []string{"every-key.yaml", "wrong.yaml"} {
		b, err := os.ReadFile(filepath.Join("testdata", "catalog", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseCatalog("c.yaml", b)
		if err != nil {
			var problems *strictyaml.Error
			if !errors.As(err, &problems) {
				t.Fatalf("got %v", err)
			}
			return
		}
		for name, s := range c.Services {
			for _, k := range s.Kinds {
				if k.Service != name || strings.Count(k.Item, "{id}") != 1 || !strings.HasPrefix(k.Item, k.Collection+"/") ||
					k.ID.From == "" || c.Rules(k) == nil {
					t.Fatalf("kind %+v", k)
				}
				for _, ref := range k.Refs {
					if c.Kind(ref.Service, ref.Kind) == nil || ref.At == "" {
						t.Fatalf("reference %+v", ref)
					}
				}
			}
		}
	})
}

// The catalogs that are handed out with the documentation are read as any.
func TestCatalogsOfTheDocumentation(t *testing.T) {
	files, err := filepath.Glob("../docs/catalogs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		if _, err := LoadCatalog(f); err != nil {
			t.Error(err)
		}
	}
	c, err := LoadCatalog("../docs/catalogs/glance.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if k := c.Kind("image", "image"); k == nil || k.JSONPatch != "application/openstack-images-v2.1-json-patch" || k.MergePatch {
		t.Errorf("images are %+v", k)
	}
	_, err = ParseCatalog("x.yaml", []byte(`{application: x, services: {a: {kinds: {b: {collection: /b, item: "/b/{id}", id: {from: path}, patch-type: text/plain}}}}}`))
	if err == nil || !strings.Contains(err.Error(), "ends in json-patch") {
		t.Errorf("a media type that is none of patches, for a kind without them: %v", err)
	}
}
