package merge

import (
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// keep fills c with what still counts of the operations of h within it: those that are late as they are, and of each of the
// others what no other one of these has taken the place of. A delete that a site has refused stays with the creates that it
// has ended, and the last other delete of each of them.
func (m *compaction) keep() {
	h, c := m.h, m.c
	counting, _ := h.Effective(m.firm)
	fold := newFold(h.kind)
	for _, o := range counting {
		fold.apply(h.base, o)
	}
	fold.shed(h.addingTo(c.Has), c.Late)
	parts := parts{}
	parts.cells(fold)
	parts.tangled(fold, counting, c.Late)
	parts.taken(fold, c.Late)
	parts.counters(h, fold, m.firm, c.Has, Within(counting))

	kept := map[*engine.Operation]bool{}
	living := h.Living(m.firm)
	lives, has := Within(living), Within(counting)
	for o := range parts {
		kept[o] = o.Type != engine.TypeCreate || lives(o) // one that has ended would live again without what has ended it
	}
	for _, o := range fold.Absolute {
		kept[o] = true
	}
	m.remember(kept, living)
	placed, placing := h.placementOf(c.Has).keep()
	c.Placed, c.Order = placed, h.foldOf(c.decided(h.kind, counting)).order
	for _, o := range placing {
		kept[o] = !m.late(o)
	}
	for o, keeps := range kept {
		if keeps && lives(o) && !has(o) {
			c.Lost = append(c.Lost, o.ID)
		}
		if keeps {
			c.Kept = append(c.Kept, m.reduce(o, parts[o], fold.Absolute[o.Path] == o))
		}
	}
	c.Whereabouts = h.Whereabouts(c.Has)
	if copies := append(copiesOf(c.Kept), copiesOf(c.Late)...); len(copies) > 0 { // who has seen one of them has seen what is kept
		c.Late = append(slices.Clip(c.Late), copies...)
		slices.SortFunc(c.Late, engine.Compare)
	}
	slices.SortFunc(c.Kept, engine.Compare)
	slices.Sort(c.Lost)
	c.shorten()
}

// firm tells which operations everything later has seen.
func (m *compaction) firm(o *engine.Operation) bool { return m.c.Has(o) && !m.late(o) }

// remember keeps the operations of which something is to be known for good: the creates, an action of unknown effect, and what
// was refused.
func (m *compaction) remember(kept map[*engine.Operation]bool, living []*engine.Operation) {
	h, firm, refused := m.h, m.firm, m.refused
	undeclared := false
	var notes []*engine.Operation
	for _, o := range living {
		switch {
		case o.Type == engine.TypeCreate:
			kept[o] = true
		case o.Type == engine.TypeAction && o.Edit == nil && !undeclared:
			undeclared = true
			kept[o] = true
		case refused(o) && !kept[o]:
			notes = append(notes, o)
		}
	}
	for _, o := range notes[max(0, len(notes)-maxRefused):] {
		kept[o] = true
	}
	deletes := slices.DeleteFunc(slices.Clone(h.deletes), func(d *engine.Operation) bool { return !firm(d) || !refused(d) })
	for _, d := range deletes[max(0, len(deletes)-maxRefused):] {
		kept[d] = true // where it was refused its object is there, to be deleted once more
		for _, o := range h.creates {
			if !firm(o) || !before(o, d) {
				continue
			}
			kept[o] = true
			for _, e := range slices.Backward(h.deletes) { // a site that has passed d over is to know that the object is deleted
				if firm(e) && !refused(e) && before(o, e) {
					kept[e] = true
					break
				}
			}
		}
	}
}

// reduce returns what a checkpoint keeps of an operation that everything later has seen.
func (m *compaction) reduce(o *engine.Operation, part *engine.Edit, absolute bool) *engine.Operation {
	switch {
	case o.Type == engine.TypePlace:
		return o
	case o.Type == engine.TypeAction && o.Edit == nil, o.Type == engine.TypeDelete:
		part = nil
	case part == nil:
		part = &engine.Edit{}
	}
	kept := *o
	kept.Edit, kept.Whereabouts = part, nil // the checkpoint tells it
	switch {
	case o.Type == engine.TypeCreate && !Opaque(m.h.kind, o):
		kept.Body, kept.Blob = m.bodyOf(o, part), nil
	case o.Type != engine.TypeCreate && !absolute:
		kept.Body, kept.Blob = nil, nil
	}
	if absolute && o.Edit == nil {
		kept.Edit = nil
	}
	return &kept
}

// bodyOf is the body of a create, which is JSON, of which this part still counts. One that would be too large is left out: it
// follows from the part.
func (m *compaction) bodyOf(create *engine.Operation, part *engine.Edit) []byte {
	k, rest := m.h.kind, *create
	rest.Edit = part
	body, err := tree.Apply(k, alone(k, create).Difference(alone(k, &rest)), Body(k, create))
	switch {
	case err != nil:
		return create.Body
	case len(body) > engine.MaxInlineBody:
		return nil
	}
	return body
}

// Body is the body of a create of a representation. Of one that is a blob, or too large for a checkpoint, it is what the create
// sets: the blob is dropped once every site has the object.
func Body(k *engine.Kind, create *engine.Operation) []byte {
	if len(create.Body) > 0 || create.Edit.Empty() {
		return create.Body
	}
	return alone(k, create).Representation()
}

// Opaque reports whether a create's body is bytes of which nothing can be told.
func Opaque(k *engine.Kind, create *engine.Operation) bool {
	_, err := tree.ParseJSON(Body(k, create))
	return err != nil
}

// shorten takes out of what the kept operations have seen whatever is not kept: nothing asks for it any more. What a placement
// change has seen is what the replicas begin with that it adds.
func (c *Checkpoint) shorten() {
	lines := map[engine.Line]bool{}
	for _, o := range slices.Concat(c.Kept, c.Late) {
		lines[o.Line] = true
	}
	for i, o := range c.Kept {
		if o.Type == engine.TypePlace {
			continue
		}
		short := *o
		short.Seen = maps.Clone(o.Seen)
		maps.DeleteFunc(short.Seen, func(line engine.Line, _ uint64) bool { return !lines[line] })
		c.Kept[i] = &short
	}
}

// Made is the body of a create with which an application makes an object that shows a fold.
func Made(k *engine.Kind, create *engine.Operation, fold Fold) ([]byte, error) {
	e := alone(k, create).Difference(fold)
	e.Order = fold.Order() // of a create a checkpoint keeps no order
	return tree.Apply(k, e, Body(k, create))
}
