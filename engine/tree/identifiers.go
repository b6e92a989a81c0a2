package tree

import (
	"encoding/json"
	"errors"
	"path"
	"slices"

	"github.com/skerry/skerry/engine"
)

// IDAt returns the identifier at a path of a representation: a text that is not empty, or a number.
func IDAt(tree any, at engine.Pointer) (string, bool) {
	if at == "" {
		return "", false
	}
	switch id, _ := ValueAt(tree, at); id := id.(type) {
	case string:
		return id, id != ""
	case json.Number:
		return id.String(), true
	}
	return "", false
}

// ChosenID is the identifier that a client put into the body of a create, empty without one.
func ChosenID(k *engine.Kind, body []byte) string {
	tree, err := ParseJSON(body)
	if err != nil {
		return ""
	}
	id, _ := IDAt(tree, k.ID.At)
	return id
}

// ChosenName is what a client calls what its request makes or changes; empty where it leaves that to the application.
func ChosenName(r engine.Request) string {
	if r.Target != "" || !r.Kind.Natural() || r.Type != engine.TypeCreate {
		return r.Target
	}
	return r.Kind.Inside(r.Within, ChosenID(r.Kind, r.Body))
}

// NameOf is what is given once in a container: what the catalog says, else an identifier that clients choose. It is empty
// for what has no such name, and for those that the catalog excepts.
func NameOf(k *engine.Kind, tree any, id string) string {
	name := ""
	switch {
	case k.Unique != "":
		name, _ = IDAt(tree, k.Unique)
	case k.Natural():
		name = id
	}
	excepted := func(pattern string) bool { is, err := path.Match(pattern, name); return is && err == nil }
	if slices.ContainsFunc(k.UniqueExcept, excepted) {
		return ""
	}
	return name
}

// NameIn returns the name that a representation has which is given once in a container, empty for none. ID is its
// identifier; empty: as it shows it.
func NameIn(k *engine.Kind, representation []byte, id string) string {
	tree, err := ParseJSON(representation)
	if id == "" && err == nil {
		id, _ = IDAt(tree, k.ID.At)
	}
	return NameOf(k, tree, id)
}

// Creating is the body of a create that makes another object like the one that shows this: without what differs between
// replicas by nature, and without an identifier that another application is to assign.
func Creating(k *engine.Kind, representation []byte) ([]byte, error) {
	tree, err := ParseJSON(representation)
	if err != nil {
		return nil, err
	}
	if _, object := tree.(map[string]any); !object {
		return nil, errors.New("not an object")
	}
	WithoutOwn(k, tree)
	if k.ID.At != "" && !k.Natural() {
		UnsetAt(tree, k.ID.At)
	}
	unmarked(k, tree)
	return Compact(tree), nil
}
