package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// resolution returns the rule of the kind for two concurrent operations, a being the earlier one in order; nil without one. A
// rule for a named operation goes before one for its type, and among those for as many names the first in the catalog.
func resolution(k *engine.Kind, a, b *engine.Operation) *engine.Resolution {
	if len(k.Resolutions) == 0 {
		return nil
	}
	var found *engine.Resolution
	most, nameA, nameB := -1, nameOf(k, a), nameOf(k, b)
	for i := range k.Resolutions {
		r := &k.Resolutions[i]
		before, after := names(r.Before, a.Type, nameA), names(r.After, b.Type, nameB)
		if before < 0 || after < 0 || before+after <= most {
			continue
		}
		found, most = r, before+after
	}
	return found
}

// nameOf is what the catalog calls a request, empty for nothing.
func nameOf(k *engine.Kind, o *engine.Operation) string {
	if o.Name != "" {
		return o.Name
	}
	if n := k.Named(o.Method, o.Path, o.Body); n != nil {
		return n.Name
	}
	return ""
}

// names returns 1 when s is the name of an operation, 0 when it is its type, and -1 when it is neither.
func names(s string, t engine.Type, name string) int {
	switch {
	case name != "" && s == name:
		return 1
	case s == string(t):
		return 0
	}
	return -1
}

// takes reports whether the kind has a rule for the two that says take.
func takes(k *engine.Kind, a, b *engine.Operation, take engine.Take) bool {
	r := resolution(k, a, b)
	return r != nil && r.Take == take
}

// TakesOne reports whether a rule of the kind lets one operation take the effect of another away.
func TakesOne(k *engine.Kind) bool {
	return slices.ContainsFunc(k.Resolutions, func(r engine.Resolution) bool { return r.Take == engine.TakeOne })
}

// BothRun reports whether a rule says that both of two concurrent operations are to run.
func (h *History) BothRun(a, b *engine.Operation) bool {
	return concurrent(a, b) && (takes(h.kind, a, b, engine.TakeBothAnyOrder) || takes(h.kind, a, b, engine.TakeBothKeepOrder))
}
