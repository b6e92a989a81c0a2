package tree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

func TestRelationsOf(t *testing.T) {
	k := &Kind{Service: "servers", Name: "server", Sensitive: []Pointer{"/secret"}, Refs: []engine.Ref{
		{At: "/image", Service: "images", Kind: "image", Relation: engine.RelationRequirement},
		{At: "/spec/networks", Service: "networks", Kind: "network", Relation: engine.RelationReliance},
		{At: "/secret/key", Service: "keys", Kind: "key", Relation: engine.RelationReliance},
		{At: "/disks/*/image", Service: "images", Kind: "image", Relation: engine.RelationReliance},
		{At: "/ports/0/id", Service: "networks", Kind: "port", Relation: engine.RelationComposition},
	}}
	for _, tt := range []struct{ name, body, want string }{
		{"one", `{"image":"debian"}`, "images.image/debian requirement at /image"},
		{"a number", `{"image":7}`, "images.image/7 requirement at /image"},
		{"an array", `{"spec":{"networks":["a","b","a"]}}`,
			"networks.network/a reliance at /spec/networks/0, networks.network/b reliance at /spec/networks/1"},
		{"inside an array", `{"ports":[{"id":"p"}]}`, "networks.port/p composition at /ports/0/id"},
		{"in every element", `{"disks":[{"image":"a"},{},{"image":["b","a"]}]}`, "images.image/a reliance at /disks/0/image, images.image/b reliance at /disks/2/image/0"},
		{"nothing to name", `{"image":"","spec":{"networks":[null,{},1.5]}}`, ""},
		{"what is sensitive is not shown", `{"secret":{"key":"k"}}`, ""},
		{"of another shape", `{"image":{"id":"x"},"spec":[]}`, ""},
		{"no JSON", `hello`, ""},
	} {
		if got := told(RelationsOf(k, "", []byte(tt.body))); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func told(list []engine.Relation) string {
	var words []string
	for _, r := range list {
		words = append(words, fmt.Sprintf("%s.%s/%s %s at %s", r.Service, r.Kind, r.ID, r.Type, r.At))
	}
	return strings.Join(words, ", ")
}

// TestRelationsBeside reads names that count in the container of what refers to them, some of which need not be there.
func TestRelationsBeside(t *testing.T) {
	k := &Kind{Within: "namespaces", Refs: []engine.Ref{
		{At: "/spec/volumes/*/configMap/name", Kind: "configmaps", Relation: engine.RelationReliance, Beside: true, Unless: "optional"},
		{At: "/spec/class", Kind: "classes", Relation: engine.RelationReliance},
	}}
	body := `{"spec":{"class":"c","volumes":[{"configMap":{"name":"a"}},{"configMap":{"name":"b","optional":true}},{"configMap":{"name":"d/e","optional":false}}]}}`
	const want = ".configmaps/foo/a reliance at /spec/volumes/0/configMap/name, .configmaps/foo/d%2Fe reliance at /spec/volumes/2/configMap/name, " +
		".classes/c reliance at /spec/class"
	if got := told(RelationsOf(k, "foo", []byte(body))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRelationsAreBounded: a long list is told of in part.
func TestRelationsAreBounded(t *testing.T) {
	k := &Kind{Refs: []engine.Ref{{At: "/list", Kind: "x"}}}
	var names []string
	for i := range engine.MaxRelations + 10 {
		names = append(names, fmt.Sprintf(`"n%d"`, i))
	}
	if n := len(RelationsOf(k, "", []byte(`{"list":[`+strings.Join(names, ",")+`]}`))); n != engine.MaxRelations {
		t.Errorf("%d are told of", n)
	}
}

func TestMarkers(t *testing.T) {
	k := &Kind{Marker: "/meta/notes"}
	for body, want := range map[string]string{
		`{"a":1}`:                         `{"a":1,"meta":{"notes":"[skerry r1]"}}`,
		`{"meta":{"notes":"by me"}}`:      `{"meta":{"notes":"by me [skerry r1]"}}`,
		`{"meta":{"notes":null}}`:         `{"meta":{"notes":"[skerry r1]"}}`,
		`{"meta":{"notes":["a","list"]}}`: ``,
		`[1]`:                             ``,
		`opaque`:                          ``,
	} {
		got, ok := Mark(k, []byte(body), "r1")
		if ok != (want != "") || ok && string(got) != want || !ok && string(got) != body {
			t.Errorf("%s is marked as %s, %v", body, got, ok)
		}
	}
	for text, want := range map[string]string{
		"by me [skerry r1]": "by me", "[skerry r1]": "", "by me": "by me", "by [me]": "by [me]", "a [skerry r1] [skerry r2]": "a", "[skerry r1] x": "[skerry r1] x",
	} {
		if got := TrimMarker(text); got != want {
			t.Errorf("%q shows %q to others", text, got)
		}
	}
	if !HasMarker("x [skerry r1]", "r1") || HasMarker("x [skerry r1]", "r2") || HasMarker("x [skerry ]", "") {
		t.Error("markers are not told apart")
	}
	_, marked, _ := Canonical(k, []byte(`{"meta":{"notes":""}}`))
	if _, plain, _ := Canonical(k, []byte(`{"meta":{}}`)); string(marked) != string(plain) {
		t.Errorf("%s is not %s", marked, plain)
	}
}

func TestNames(t *testing.T) {
	natural := &Kind{ID: engine.IDRule{At: "/metadata/name", Settable: true}, UniqueExcept: []string{"kube-*"}}
	assigned := &Kind{ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
	named := &Kind{ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}, Unique: "/name"}
	for _, c := range []struct {
		k              *Kind
		body, id, want string
	}{
		{natural, `{"metadata":{"name":"blue"}}`, "", "blue"},
		{natural, `{}`, "green", "green"},
		{natural, `{"metadata":{"name":"kube-root"}}`, "", ""},
		{assigned, `{"id":"7"}`, "", ""},
		{named, `{"id":"7","name":"web"}`, "7", "web"},
		{named, `opaque`, "7", ""},
	} {
		if got := NameIn(c.k, []byte(c.body), c.id); got != c.want {
			t.Errorf("%s is called %q, want %q", c.body, got, c.want)
		}
	}
	for body, want := range map[string]string{`{"id":"x"}`: "x", `{"id":7}`: "7", `{"id":null}`: "", `{}`: "", `x`: ""} {
		if got := ChosenID(assigned, []byte(body)); got != want {
			t.Errorf("%s chooses %q", body, got)
		}
	}
}

func TestCreating(t *testing.T) {
	k := &Kind{ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}, Ignore: []Pointer{"/status"}, Marker: "/notes"}
	const shown = `{"id":"7","name":"n","notes":"","status":{"up":true}}`
	if got, err := Creating(k, []byte(shown)); err != nil || string(got) != `{"name":"n"}` {
		t.Errorf("another one is made from %s, %v", got, err)
	}
	k.ID.Settable = true
	if got, err := Creating(k, []byte(shown)); err != nil || string(got) != `{"id":"7","name":"n"}` {
		t.Errorf("one of the same name is made from %s, %v", got, err)
	}
	for _, body := range []string{`[1]`, `opaque`} {
		if _, err := Creating(k, []byte(body)); err == nil {
			t.Errorf("%s makes an object", body)
		}
	}
}

func TestOverwrite(t *testing.T) {
	root, err := Parse(disked, []byte(`{"disks":[{"name":"a","secret":"s"},{"name":"b"}],"list":[{"secret":1},{"x":2}],"secret":"t"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Pointer{"/disks/*/secret", "/list/*/secret", "/secret", "/none/x"} {
		Overwrite(root, p, "•")
	}
	const want = `{"disks":[{"name":"a","secret":"•"},{"name":"b"}],"list":[{"secret":"•"},{"x":2}],"secret":"•"}`
	if got := string(Compact(root)); got != want {
		t.Errorf("it becomes %s", got)
	}
}
