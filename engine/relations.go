package engine

import (
	"encoding/json"
	"strconv"
)

// RelationType says how long a resource needs what it refers to.
type RelationType string

const (
	// RelationRequirement is needed during an operation: an image to boot from.
	RelationRequirement RelationType = "requirement"
	// RelationReliance is needed as long as the resource lives: a network to be connected to.
	RelationReliance RelationType = "reliance"
	// RelationComposition is made and destroyed along by the application itself.
	RelationComposition RelationType = "composition"
)

// RelationTypes are all there are.
var RelationTypes = []RelationType{RelationRequirement, RelationReliance, RelationComposition}

// MaxRelations is how many references of one resource are kept: the first ones. A list that has so many may have more.
const MaxRelations = 1000

// Target is what a reference names: a resource of a kind. ID is a meta-identifier where the resource is replicated.
type Target struct {
	Service ServiceName `json:"service"`
	Kind    KindName    `json:"kind"`
	ID      ResourceID  `json:"id"`
}

// Relation is one reference of a resource to another. At is where its representation has it: an element's place when it
// stands in an array.
type Relation struct {
	Target
	At   Pointer      `json:"at"`
	Type RelationType `json:"type"`
	// Found are the sites that had the target when it was named, empty when that is not known.
	Found []SiteID `json:"found,omitempty"`
}

// RelationsOf reads the references in a representation of a kind, in the order of the catalog; a target that an array has
// several times counts once. What is sensitive is left out. A representation that is not JSON has none. Within is the container that
// the resource lies in, as its identifier begins; empty for none.
func RelationsOf(k *Kind, within string, representation []byte) []Relation {
	if len(k.Refs) == 0 {
		return nil
	}
	tree, err := parseJSON(representation)
	if err != nil {
		return nil
	}
	var found []Relation
	type reference struct {
		to  Target
		ref int
	}
	seen := map[reference]bool{}
	for n, ref := range k.Refs {
		if ref.At == "" || k.Hides(ref.At) {
			continue
		}
		add := func(at Pointer, v any) {
			id, ok := identifierOf(v)
			if ok && ref.Unless != "" {
				free, _ := valueAt(tree, at.parent().Append(ref.Unless))
				ok = free != true
			}
			if ref.Beside {
				id = ResourceID(Inside(within, string(id)))
			}
			to := Target{ref.Service, ref.Kind, id}
			if !ok || seen[reference{to, n}] || len(found) >= MaxRelations {
				return
			}
			seen[reference{to, n}] = true
			found = append(found, Relation{Target: to, At: at, Type: ref.Relation})
		}
		visit(tree, "", ref.At.Tokens(), func(at Pointer, v any) {
			array, several := v.([]any)
			if !several {
				add(at, v)
			}
			for i, element := range array {
				add(at.Append(strconv.Itoa(i)), element)
			}
		})
	}
	return found
}

// visit calls found for each value that tokens name in a tree; a token * stands for every element of an array.
func visit(tree any, at Pointer, tokens []string, found func(Pointer, any)) {
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
			if t := strconv.Itoa(i); t == tokens[0] || tokens[0] == anyElement {
				visit(element, at.Append(t), tokens[1:], found)
			}
		}
	}
}

// identifierOf reads an identifier as representations have them: a string or a whole number.
func identifierOf(v any) (ResourceID, bool) {
	switch id := v.(type) {
	case string:
		return ResourceID(id), id != ""
	case json.Number:
		_, err := strconv.ParseInt(string(id), 10, 64)
		return ResourceID(id), err == nil
	}
	return "", false
}

// relations are the references of the resource in fold, which is what all that is known of it amounts to.
func (v *view) relations(fold Fold) []Relation {
	if len(v.kind.Refs) == 0 {
		return nil
	}
	within, _ := v.kind.Split(string(v.about.Key))
	list := RelationsOf(v.kind, within, fold.Representation())
	at := map[Target][]SiteID{}
	for _, f := range v.history.whereabouts(anyOperation) {
		at[f.Target] = f.Sites
	}
	for i := range list {
		list[i].Found = at[list[i].Target]
	}
	return list
}

// Patched returns what a JSON Patch (RFC 6902) sets, as a representation that has nothing else. It is empty when the patch
// is none.
func Patched(patch []byte) []byte {
	var ops []struct {
		Op    string          `json:"op"`
		Path  Pointer         `json:"path"`
		Value json.RawMessage `json:"value"`
	}
	if json.Unmarshal(patch, &ops) != nil {
		return nil
	}
	var tree any = map[string]any{}
	for _, op := range ops {
		if v, err := parseJSON(op.Value); err == nil && (op.Op == "add" || op.Op == "replace") && len(op.Path.Tokens()) <= maxDepth {
			tree = setAt(tree, op.Path, v)
		}
	}
	return compact(tree)
}
