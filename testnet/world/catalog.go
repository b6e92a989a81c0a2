package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Declares reports whether the catalog says what the action at the end of a path does.
func Declares(k *engine.Kind, action string) bool {
	return slices.ContainsFunc(k.Operations, func(n engine.NamedOperation) bool { return n.Name == action })
}

// catalog is the kinds of all sites. It implements engine.Catalog.
type catalog []*engine.Kind

// Classify implements engine.Catalog.
func (list catalog) Classify(_ engine.ServiceName, method, path string, header map[string]string) (engine.KindName, engine.Type, bool) {
	for _, k := range list {
		if path == k.Collection && method == http.MethodPost {
			return k.Name, engine.TypeCreate, true
		}
		rest, ok := strings.CutPrefix(path, k.Item)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		switch fmt.Sprint(method, rest != "") {
		case "PUTfalse":
			return k.Name, engine.TypeReplace, true
		case "PATCHfalse":
			if header["Content-Type"] == JSONPatch {
				return k.Name, engine.TypePatch, true
			}
			return k.Name, engine.TypeMerge, true
		case "DELETEfalse":
			return k.Name, engine.TypeDelete, true
		case "PUTtrue":
			return k.Name, engine.TypeAbsolute, true
		case "POSTtrue":
			return k.Name, engine.TypeAction, true
		}
	}
	return "", "", false
}

// items takes a list of an application apart.
func items(body []byte) ([][]byte, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	var all [][]byte
	for _, i := range list {
		all = append(all, i)
	}
	return all, nil
}

// Inside lists what the application has of a kind in a container, by its own identifier.
func (a *Application) Inside(k engine.KindName, container string) map[string]*Object {
	all := map[string]*Object{}
	for id, o := range a.objects[k] {
		if own, ok := strings.CutPrefix(id, engine.Inside(container, "")); ok {
			all[own] = o
		}
	}
	return all
}

func (a *Application) list(k engine.KindName, container string) []byte {
	list, all := []any{}, a.Inside(k, container)
	for _, own := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[own].Fields)
	}
	return encode(list)
}

// empty removes what was in a container that is no more.
func (a *Application) empty(k engine.KindName, id string) {
	for inner, objects := range a.objects {
		if a.within[inner] == k {
			maps.DeleteFunc(objects, func(other string, _ *Object) bool { return strings.HasPrefix(other, engine.Inside(id, "")) })
		}
	}
}
