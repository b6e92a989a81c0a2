package engine

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestRelationsOf(t *testing.T) {
	k := &Kind{Service: "servers", Name: "server", Sensitive: []Pointer{"/secret"}, Refs: []Ref{
		{At: "/image", Service: "images", Kind: "image", Relation: RelationRequirement},
		{At: "/spec/networks", Service: "networks", Kind: "network", Relation: RelationReliance},
		{At: "/secret/key", Service: "keys", Kind: "key", Relation: RelationReliance},
		{At: "/disks/*/image", Service: "images", Kind: "image", Relation: RelationReliance},
		{At: "/ports/0/id", Service: "networks", Kind: "port", Relation: RelationComposition},
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
		var got []string
		for _, r := range RelationsOf(k, "", []byte(tt.body)) {
			got = append(got, fmt.Sprintf("%s.%s/%s %s at %s", r.Service, r.Kind, r.ID, r.Type, r.At))
		}
		if s := strings.Join(got, ", "); s != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, s, tt.want)
		}
	}
}

func TestPatched(t *testing.T) {
	for patch, want := range map[string]string{
		`[{"op":"replace","path":"/network","value":"n"},{"op":"add","path":"/a/b","value":[1]},{"op":"remove","path":"/image"},{"op":"test","path":"/x","value":1}]`: `{"a":{"b":[1]},"network":"n"}`,
		`[{"op":"replace","path":"","value":{"network":"n"}}]`: `{"network":"n"}`,
		`{"op":"add"}`: ``, `[]`: `{}`, `nonsense`: ``,
	} {
		if got := string(Patched([]byte(patch))); got != want {
			t.Errorf("%s: got %s, want %s", patch, got, want)
		}
	}
}

// TestRelationsBeside reads names that count in the container of what refers to them, some of which need not be there.
func TestRelationsBeside(t *testing.T) {
	k := &Kind{Within: "namespaces", Refs: []Ref{
		{At: "/spec/volumes/*/configMap/name", Kind: "configmaps", Relation: RelationReliance, Beside: true, Unless: "optional"},
		{At: "/spec/class", Kind: "classes", Relation: RelationReliance},
	}}
	body := `{"spec":{"class":"c","volumes":[{"configMap":{"name":"a"}},{"configMap":{"name":"b","optional":true}},{"configMap":{"name":"d/e","optional":false}}]}}`
	var got []string
	for _, r := range RelationsOf(k, "foo", []byte(body)) {
		got = append(got, fmt.Sprintf("%s %s", r.Kind, r.ID))
	}
	if s := strings.Join(got, ", "); s != "configmaps foo/a, configmaps "+Inside("foo", "d/e")+", classes c" {
		t.Errorf("got %q", s)
	}
}

// TestRelationsAreBounded gives a representation with more references than are kept.
func TestRelationsAreBounded(t *testing.T) {
	k := &Kind{Refs: []Ref{{At: "/all", Service: "s", Kind: "k", Relation: RelationReliance}}}
	var ids []string
	for i := range 3 * MaxRelations {
		ids = append(ids, fmt.Sprint(i))
	}
	got := RelationsOf(k, "", []byte(`{"all":[`+strings.Join(ids, ",")+`]}`))
	if len(got) != MaxRelations || !reflect.DeepEqual(got[MaxRelations-1].ID, ResourceID(fmt.Sprint(MaxRelations-1))) {
		t.Errorf("%d relations, the last is %+v", len(got), got[len(got)-1])
	}
}
