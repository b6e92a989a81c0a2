package merge

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// before reports whether a happened before b: b's origin had settled a when it issued b.
func before(a, b *engine.Operation) bool {
	saw := func(p *engine.Operation) bool { return b.Saw(p.Line, p.Number) }
	return a.Time < b.Time && (saw(a) || len(a.Copies) > 0 && slices.ContainsFunc(a.Copies, saw)) // the times spare most look-ups
}

// concurrent reports whether neither happened before the other.
func concurrent(a, b *engine.Operation) bool { return a != b && !before(a, b) && !before(b, a) }

// Before reports whether a happened before b: b's origin had settled a when it issued b.
func (h *History) Before(a, b *engine.Operation) bool { return before(a, b) }

// Concurrent reports whether neither happened before the other.
func (h *History) Concurrent(a, b *engine.Operation) bool { return concurrent(a, b) }

// Parents returns the newest operations that o's origin had settled when it issued o, sorted, as far as the checkpoint keeps
// them; nil for one that the checkpoint keeps.
func (h *History) Parents(o *engine.Operation) []engine.OperationID {
	if h.base.Has(o) {
		return nil
	}
	var seen []*engine.Operation
	for line, n := range o.Before() {
		if p := h.At(line, n); p != nil {
			seen = append(seen, p)
		} else if p := h.base.late(line, n); p != nil {
			seen = append(seen, p)
		}
	}
	if len(seen) == 0 && h.base != nil {
		return h.base.Newest
	}
	var ids []engine.OperationID
	for _, p := range seen {
		if !slices.ContainsFunc(seen, func(q *engine.Operation) bool { return before(p, q) }) {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// Whereabouts collects where the operations for which in is true say that resources are: the last word of each, and of those
// named last as many as one operation can tell.
func (h *History) Whereabouts(in func(*engine.Operation) bool) []engine.Whereabouts {
	var list []engine.Whereabouts
	tell := func(found []engine.Whereabouts) {
		for _, f := range found {
			known := func(w engine.Whereabouts) bool { return w.Target == f.Target }
			if len(list) < engine.MaxWhereabouts && !slices.ContainsFunc(list, known) {
				list = append(list, f)
			}
		}
	}
	for _, o := range slices.Backward(h.ordered) {
		if len(o.Whereabouts) > 0 && in(o) && !h.base.Has(o) {
			tell(o.Whereabouts)
		}
	}
	if h.base != nil {
		tell(h.base.Whereabouts)
	}
	return list
}
