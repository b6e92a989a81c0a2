package kubernetes

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// maxDepth bounds how deep in a schema arrays are looked for; that of pods has ten levels.
const maxDepth = 16

// schema is what is read of an OpenAPI 3 schema.
type schema struct {
	Ref        string                                  `json:"$ref"`
	Type       string                                  `json:"type"`
	AllOf      []schema                                `json:"allOf"`
	Properties map[string]*schema                      `json:"properties"`
	Items      *schema                                 `json:"items"`
	MergeKey   string                                  `json:"x-kubernetes-patch-merge-key"`
	MapKeys    []string                                `json:"x-kubernetes-list-map-keys"`
	ListType   string                                  `json:"x-kubernetes-list-type"`
	Kinds      []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
}

// keys gives kinds the arrays whose elements the schema names by one member: containers of a pod are told apart by their names, so
// that two sites may change two of them. Arrays whose elements have keys of several members are one value each. The order of a set is no
// value; that of containers and variables is. Told are the kinds whose schema the cluster tells.
func (s Source) keys(ctx context.Context, kinds []foundKind) (told map[engine.KindName]bool, err error) {
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		}
	}
	if err := s.get(ctx, "/openapi/v3", "application/json", &index); err != nil {
		return nil, err
	}
	told = map[engine.KindName]bool{}
	read := map[string]map[string]*schema{}
	for _, f := range kinds {
		schemas, ok := read[f.path]
		if url := index.Paths[f.path].URL; !ok && url != "" {
			var d struct {
				Components struct{ Schemas map[string]*schema }
			}
			if err := s.get(ctx, url, "application/json", &d); err != nil {
				return nil, err
			}
			schemas = d.Components.Schemas
			read[f.path] = schemas
		}
		for _, d := range schemas {
			if slices.ContainsFunc(d.Kinds, func(k struct{ Group, Version, Kind string }) bool {
				return k.Group == f.group && k.Version == f.version && k.Kind == f.schema
			}) {
				f.kind.Keys, f.kind.Unordered = arraysOf(f.kind, d, schemas)
				divided(f.kind, d, schemas)
				told[f.kind.Name] = true
				break
			}
		}
	}
	return told, nil
}

// arraysOf lists the keyed arrays of a schema, the outer before those inside it, and those whose order is no value.
func arraysOf(k *engine.Kind, root *schema, all map[string]*schema) (keys []engine.Key, sets []engine.Pointer) {
	var walk func(s *schema, at engine.Pointer, depth int)
	walk = func(s *schema, at engine.Pointer, depth int) {
		if s = s.resolved(all); s == nil || depth > maxDepth {
			return
		}
		for _, name := range sortedNames(s.Properties) {
			member, p := s.Properties[name], at.Append(name)
			if k.Ignored(p) {
				continue
			}
			if member.Items == nil {
				walk(member, p, depth+1)
				continue
			}
			if member.ListType == "set" {
				sets = append(sets, p)
				continue
			}
			key := member.MergeKey
			if key == "" && len(member.MapKeys) == 1 {
				key = member.MapKeys[0]
			}
			if items := member.Items.resolved(all); key != "" && items != nil && items.Properties[key] != nil {
				keys = append(keys, engine.Key{At: p, Member: key})
				walk(items, p.Append("*"), depth+1)
			}
		}
	}
	walk(root, "", 0)
	return keys, sets
}

// resolved follows references; nil where there is nothing behind one.
func (s *schema) resolved(all map[string]*schema) *schema {
	for range maxDepth {
		switch {
		case s == nil:
			return nil
		case s.Ref != "":
			s = all[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		case len(s.AllOf) == 1 && len(s.Properties) == 0:
			s = &s.AllOf[0]
		default:
			return s
		}
	}
	return nil
}

func sortedNames(m map[string]*schema) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}
