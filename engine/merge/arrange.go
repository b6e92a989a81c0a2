package merge

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// arrange keeps the order of keyed arrays after e: the elements stay as they were, what was removed goes, and what is new
// comes last, in the order that e had it.
func (f *Fold) arrange(e *engine.Edit) {
	if len(f.order) == 0 && len(e.Order) == 0 && (f.kind == nil || len(f.kind.Keys) == 0) {
		return
	}
	for p, tokens := range f.order {
		left := slices.DeleteFunc(slices.Clone(tokens), func(t string) bool { return !f.shows(p.Append(t)) })
		if len(left) > 0 {
			f.order[p] = left
		} else {
			delete(f.order, p)
		}
	}
	for p, tokens := range e.Order {
		for _, t := range tokens {
			f.place(p, t)
		}
	}
	for _, q := range tree.Sorted(e.Set) { // an element that was removed meanwhile is there again
		for p := q; p != ""; {
			t := p
			p = p.Parent()
			if tree.IsKeyed(f.at(p)) {
				f.place(p, t[len(p):].Tokens()[0])
			}
		}
	}
}

// rearrange takes the order that a checkpoint tells, as far as the elements are there.
func (f *Fold) rearrange(order map[engine.Pointer][]string) {
	if order != nil {
		f.order = maps.Clone(order)
		f.arrange(&engine.Edit{})
	}
}

// place puts an element of the array at p last, if the fold shows it and has it nowhere yet.
func (f *Fold) place(p engine.Pointer, token string) {
	if slices.Contains(f.order[p], token) || !f.shows(p.Append(token)) {
		return
	}
	if f.order == nil {
		f.order = map[engine.Pointer][]string{}
	}
	f.order[p] = append(slices.Clip(f.order[p]), token)
}

// at is the value at p, or what stands there because something below it is known.
func (f *Fold) at(p engine.Pointer) json.RawMessage {
	if c := f.Cells[p]; c.Value != nil {
		return c.Value
	}
	return tree.ContainerAt(f.kind, p)
}

// shows reports whether there is something at p or below it.
func (f *Fold) shows(p engine.Pointer) bool {
	if f.Cells[p].Value != nil {
		return true
	}
	if f.filled(p) {
		for q, c := range f.Cells {
			if c.Value != nil && p.Contains(q) {
				return true
			}
		}
	}
	return false
}

// Order is in which order the keyed arrays that the fold shows have their elements. It is not to be changed.
func (f Fold) Order() map[engine.Pointer][]string { return f.order }
