package merge

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/skerry/skerry/next/engine"
	"github.com/skerry/skerry/next/engine/tree"
)

// keep fills c with what still counts of the operations of h within it: those that are late as they are, and of each of the
// others what no other one of these has taken the place of. A delete that a site has refused stays with the creates that it
// has ended, and the last other delete of each of them.
func (c *Checkpoint) keep(h *History, late []*engine.Operation, refused func(*engine.Operation) bool) {
	isLate := Among(late)
	firm := func(o *engine.Operation) bool { return c.Has(o) && !isLate(o) }
	counting, _ := h.Effective(Pick{In: firm})
	fold := newFold(h.kind)
	for _, o := range counting {
		fold.apply(h.base, o)
	}
	fold.shed(h.addingTo(c.Has), late)
	parts := parts{}
	parts.cells(fold)
	parts.tangled(fold, counting, late)
	parts.counters(h, fold, firm, Within(counting))

	kept := map[*engine.Operation]bool{}
	living := h.Living(firm)
	lives, has := Within(living), Within(counting)
	for o := range parts {
		kept[o] = o.Type != engine.TypeCreate || lives(o) // one that has ended would live again without what has ended it
	}
	for _, o := range fold.Absolute {
		kept[o] = true
	}
	h.remember(kept, living, firm, refused)
	placed, placing := h.placementOf(c.Has).keep()
	c.Placed, c.Order = placed, h.Whole(Pick{In: c.Has}).order
	for _, o := range placing {
		kept[o] = !isLate(o)
	}
	for o, keeps := range kept {
		if keeps && lives(o) && !has(o) {
			c.Lost = append(c.Lost, o.ID)
		}
		if keeps {
			c.Kept = append(c.Kept, h.reduce(o, parts[o], fold.Absolute[o.Path] == o))
		}
	}
	c.Late = late
	c.Whereabouts = h.Whereabouts(c.Has)
	slices.SortFunc(c.Kept, engine.Compare)
	slices.Sort(c.Lost)
	c.shorten()
}

// remember keeps the operations of which something is to be known for good: the creates, an action of unknown effect, and what
// was refused.
func (h *History) remember(
	kept map[*engine.Operation]bool, living []*engine.Operation, firm, refused func(*engine.Operation) bool,
) {
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

// parts are what still counts of edits, by operation.
type parts map[*engine.Operation]*engine.Edit

func (p parts) of(o *engine.Operation) *engine.Edit {
	if p[o] == nil {
		p[o] = &engine.Edit{Set: map[engine.Pointer]json.RawMessage{}}
	}
	return p[o]
}

// cells takes what the cells of a fold hold.
func (p parts) cells(fold Fold) {
	for at, cell := range fold.Cells {
		if cell.Value != nil {
			p.of(cell.By).Set[at] = cell.Value
		} else {
			p.of(cell.By).Unset = append(p.of(cell.By).Unset, at)
		}
	}
	if fold.whole != nil {
		p.of(fold.whole).Whole = true
	}
	for _, part := range p {
		slices.Sort(part.Unset)
	}
}

// tangled takes all that ops have set at and below paths where a value and what would be below it have taken each other's
// place: what stands there in the end depends on each of them, should something late come between.
func (p parts) tangled(fold Fold, ops, late []*engine.Operation) {
	if len(late) == 0 {
		return
	}
	roots := tangles(slices.Concat(ops, late))
	if len(roots) == 0 {
		return
	}
	in := func(at engine.Pointer) bool {
		return slices.ContainsFunc(roots, func(root engine.Pointer) bool { return root.Contains(at) })
	}
	for _, o := range ops {
		if o.Edit == nil || fold.whole != nil && engine.Compare(o, fold.whole) < 0 {
			continue
		}
		for at, v := range o.Edit.Set {
			if in(at) {
				p.of(o).Set[at] = v
			}
		}
		for _, at := range o.Edit.Unset {
			if in(at) && !slices.Contains(p.of(o).Unset, at) {
				p.of(o).Unset = append(p.of(o).Unset, at)
				slices.Sort(p.of(o).Unset)
			}
		}
	}
}

// tangles lists the paths at which one of ops sets a value that has nothing below it, or another container than another one,
// and below which one of them sets or removes something.
func tangles(ops []*engine.Operation) []engine.Pointer {
	ends := map[engine.Pointer]bool{}
	containers := map[engine.Pointer]string{}
	found := map[engine.Pointer]bool{}
	below := func(at engine.Pointer) {
		for at != "" {
			if at = at.Parent(); ends[at] {
				found[at] = true
			}
		}
	}
	for _, o := range ops {
		for at, v := range edited(o).Set {
			if other, known := containers[at]; tree.IsContainer(v) && (!known || other == string(v)) {
				containers[at] = string(v)
			} else {
				ends[at] = true
			}
		}
	}
	for _, o := range ops {
		for at := range edited(o).Set {
			below(at)
		}
		for _, at := range edited(o).Unset {
			below(at)
		}
	}
	return tree.Sorted(found)
}

func edited(o *engine.Operation) engine.Edit {
	if o.Edit == nil {
		return engine.Edit{}
	}
	return *o.Edit
}

// counters takes what was added to numbers: the last operation that has added to one stands for all.
func (p parts) counters(h *History, fold Fold, in, counts func(*engine.Operation) bool) {
	adding := h.addingTo(in)
	for _, at := range tree.Sorted(adding) {
		setter, unseen := fold.uncounted(at, adding[at])
		if len(unseen) == 0 {
			continue
		}
		var sum tree.Decimal
		var last *engine.Operation
		for _, o := range unseen {
			if by, err := tree.ParseDecimal(string(o.Edit.Add[at].By)); err == nil && counts(o) {
				sum, last = sum.Plus(by), o
			}
		}
		if last == nil { // it tells where the number began
			last = unseen[0]
			sum, _ = tree.ParseDecimal(string(last.Edit.Add[at].By))
		}
		add := engine.Increment{By: sum.Number()}
		if cell, set := fold.Cells[at]; !set || cell.Value == nil {
			if from, known := h.firstSeen(at, setter, unseen); known {
				add.From = from.Number()
			}
		}
		put(&p.of(last).Add, at, add)
	}
}

// reduce returns what a checkpoint keeps of an operation that everything later has seen.
func (h *History) reduce(o *engine.Operation, part *engine.Edit, absolute bool) *engine.Operation {
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
	case o.Type == engine.TypeCreate && !Opaque(h.kind, o):
		kept.Body, kept.Blob = h.bodyOf(o, part), nil
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
func (h *History) bodyOf(create *engine.Operation, part *engine.Edit) []byte {
	rest := *create
	rest.Edit = part
	body, err := tree.Apply(h.kind, alone(h.kind, create).Difference(alone(h.kind, &rest)), Body(h.kind, create))
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
	origins := map[engine.SiteID]bool{}
	for _, o := range slices.Concat(c.Kept, c.Late) {
		origins[o.Origin] = true
	}
	for i, o := range c.Kept {
		if o.Type == engine.TypePlace {
			continue
		}
		short := *o
		short.Seen = maps.Clone(o.Seen)
		maps.DeleteFunc(short.Seen, func(origin engine.SiteID, _ uint64) bool { return !origins[origin] })
		c.Kept[i] = &short
	}
}

// Made is the body of a create with which an application makes an object that shows a fold.
func Made(k *engine.Kind, create *engine.Operation, fold Fold) ([]byte, error) {
	return tree.Apply(k, alone(k, create).Difference(fold), Body(k, create))
}
