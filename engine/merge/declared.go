package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// observedPatch is the effect of a patch of the application's own, which may state divided fields.
var observedPatch = &engine.NamedOperation{Observed: true, States: true}

// Effect returns what the catalog declares of a request whose body does not tell what it sets, nil for nothing.
func Effect(k *engine.Kind, o *engine.Operation) *engine.NamedOperation {
	if o.Type == engine.TypePatch && k.ObservesPatch(o.Header["Content-Type"]) {
		return observedPatch
	}
	if o.Type != engine.TypeAction && o.Type != engine.TypeAbsolute {
		return nil
	}
	if n := k.Named(o.Method, o.Path, o.Body); n != nil && n.Declared() {
		return n
	}
	return nil
}

// ByPosition reports whether o is a JSON Patch that names elements by their position, so that no other site may run it as it
// is.
func ByPosition(k *engine.Kind, o *engine.Operation) bool {
	if len(k.Keys)+len(k.Unordered) == 0 || o.Type != engine.TypePatch {
		return false
	}
	patch, err := tree.ParsePatch(o.Body)
	return err == nil && tree.Positional(k, patch)
}

// MergeType is the media type that clients of this resource send merge patches with, because not every application takes the
// registered one.
func (h *History) MergeType() string {
	if h.base != nil && h.base.MergeType != "" {
		return h.base.MergeType
	}
	i := slices.IndexFunc(h.ordered, func(o *engine.Operation) bool { return mergeType(o) != "" })
	if i < 0 {
		_, media := tree.MergeForm(h.kind)
		return media
	}
	return mergeType(h.ordered[i])
}

// TakesMerges reports whether clients of this resource send merge patches.
func TakesMerges(h *History) bool {
	return h.base != nil && h.base.MergeType != "" || slices.ContainsFunc(h.ordered, func(o *engine.Operation) bool { return mergeType(o) != "" })
}

func mergeType(o *engine.Operation) string {
	if o.Type != engine.TypeMerge {
		return ""
	}
	return o.Header["Content-Type"]
}
