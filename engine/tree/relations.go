package tree

import (
	"encoding/json"
	"strconv"

	"github.com/skerry/skerry/engine"
)

// RelationsOf reads the references in a representation of a kind, in the order of the catalog; a target that an array has
// several times counts once. What is sensitive is left out. A representation that is not JSON has none. Within is the
// container that the resource lies in, as its identifier begins; empty for none.
func RelationsOf(k *engine.Kind, within string, representation []byte) []engine.Relation {
	if len(k.Refs) == 0 {
		return nil
	}
	tree, err := ParseJSON(representation)
	if err != nil {
		return nil
	}
	r := references{tree: tree, within: within, seen: map[reference]bool{}}
	for n, ref := range k.Refs {
		if ref.At == "" || k.Hides(ref.At) {
			continue
		}
		visit(tree, "", ref.At.Tokens(), func(at engine.Pointer, v any) {
			array, several := v.([]any)
			if !several {
				r.add(n, ref, at, v)
			}
			for i, element := range array {
				r.add(n, ref, at.Append(strconv.Itoa(i)), element)
			}
		})
	}
	return r.found
}

type references struct {
	tree   any
	within string
	seen   map[reference]bool
	found  []engine.Relation
}

type reference struct {
	to  engine.Target
	ref int
}

func (r *references) add(n int, ref engine.Ref, at engine.Pointer, v any) {
	id, ok := identifierOf(v)
	if ok && ref.Unless != "" {
		free, _ := ValueAt(r.tree, at.Parent().Append(ref.Unless))
		ok = free != true
	}
	if ref.Beside {
		id = engine.ResourceID(engine.Inside(r.within, string(id)))
	}
	to := engine.Target{Service: ref.Service, Kind: ref.Kind, ID: id}
	if !ok || r.seen[reference{to, n}] || len(r.found) >= engine.MaxRelations {
		return
	}
	r.seen[reference{to, n}] = true
	r.found = append(r.found, engine.Relation{Target: to, At: at, Type: ref.Relation})
}

// visit calls found for each value that tokens name in a tree; a token * stands for every element of an array.
func visit(tree any, at engine.Pointer, tokens []string, found func(engine.Pointer, any)) {
	if len(tokens) == 0 {
		found(at, tree)
		return
	}
	switch v := tree.(type) {
	case map[string]any:
		if m, ok := v[tokens[0]]; ok {
			visit(m, at.Append(tokens[0]), tokens[1:], found)
		}
	case []any:
		for i, element := range v {
			if t := strconv.Itoa(i); t == tokens[0] || tokens[0] == engine.AnyElement {
				visit(element, at.Append(t), tokens[1:], found)
			}
		}
	}
}

// identifierOf reads an identifier as representations have them: a string or a whole number.
func identifierOf(v any) (engine.ResourceID, bool) {
	switch id := v.(type) {
	case string:
		return engine.ResourceID(id), id != ""
	case json.Number:
		_, err := strconv.ParseInt(string(id), 10, 64)
		return engine.ResourceID(id), err == nil
	}
	return "", false
}

// Patched returns what a JSON Patch (RFC 6902) sets, as a representation that has nothing else. It is empty when the patch
// is none.
func Patched(patch []byte) []byte {
	steps, err := ParsePatch(patch)
	if err != nil {
		return nil
	}
	var tree any = map[string]any{}
	for _, step := range steps {
		if step.Op == "add" || step.Op == "replace" {
			tree = SetAt(tree, step.Path, clone(step.Value))
		}
	}
	return Compact(tree)
}
