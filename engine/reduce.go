package engine

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// keep fills c with what still counts of the operations of h for which in is true: those that are late as they are, and of each
// of the others what no other one of these has taken the place of. A delete that a site has refused stays with the creates that it has
// ended, and the last other delete of each of them.
func (c *Checkpoint) keep(h *History, in, late, refused func(*Operation) bool) {
	firm := func(o *Operation) bool { return in(o) && !late(o) }
	counting, _ := h.effective(pick{in: firm})
	fold := newFold(h)
	for _, o := range counting {
		fold.apply(h, o)
	}
	others := h.all(func(o *Operation) bool { return in(o) && late(o) })
	fold.shed(h.adding(in), others)
	parts := parts{}
	parts.cells(fold)
	parts.tangled(fold, counting, others)
	parts.counters(h, fold, firm, among(counting))

	kept := map[*Operation]bool{}
	for o := range parts {
		kept[o] = true
	}
	for _, o := range fold.Absolute {
		kept[o] = true
	}
	var undeclared *Operation
	var notes []*Operation
	living := h.Living(firm)
	for _, o := range living {
		switch {
		case o.Type == TypeCreate:
			kept[o] = true
		case o.Type == TypeAction && o.Change == nil && undeclared == nil:
			undeclared = o
			kept[o] = true
		case refused(o) && !kept[o]:
			notes = append(notes, o)
		}
	}
	for _, o := range notes[max(0, len(notes)-maxRefused):] {
		kept[o] = true
	}
	deletes := h.all(func(o *Operation) bool { return firm(o) && o.Type == TypeDelete && refused(o) })
	for _, d := range deletes[max(0, len(deletes)-maxRefused):] { // where it was refused its object is there, to be deleted once more
		kept[d] = true
		for _, o := range h.ordered {
			if o.Type != TypeCreate || !firm(o) || !h.discards(d, o) {
				continue
			}
			kept[o] = true
			ends := func(e *Operation) bool { return e.Type == TypeDelete && firm(e) && !refused(e) && h.discards(e, o) }
			if also := h.all(ends); len(also) > 0 { // a site that has passed d over is to know that the object is deleted
				kept[also[len(also)-1]] = true
			}
		}
	}
	placed, placing := h.placementOf(in).placed()
	c.Placed, c.Order = placed, FoldOf(h, in).order
	for _, o := range placing {
		kept[o] = !late(o)
	}
	lives, has := among(living), among(counting)
	for o, keeps := range kept {
		if keeps && lives(o) && !has(o) {
			c.Lost = append(c.Lost, o.ID)
		}
		if keeps {
			c.Kept = append(c.Kept, h.reduce(o, parts[o], fold.Absolute[o.Path] == o))
		}
	}
	c.Late = others
	c.Found = h.whereabouts(in)
	slices.SortFunc(c.Kept, Compare)
	slices.Sort(c.Lost)
	c.shorten()
}

// shed takes out of a fold for a checkpoint that paths were removed, but for those that were last: everything later has seen that, and
// all sites have done it. What one of late sets or adds to stays as it is: it is to stay removed.
func (f *Fold) shed(adding map[Pointer][]*Operation, late []*Operation) {
	var removed []Pointer
	for p, cell := range f.Cells {
		touches := func(o *Operation) bool { return o.Change != nil && (o.Change.Whole || o.Change.touches(p)) }
		if cell.Value == nil && adding[p] == nil && !slices.ContainsFunc(late, touches) {
			removed = append(removed, p)
		}
	}
	slices.SortFunc(removed, func(p, q Pointer) int { return cmp.Or(Compare(f.Cells[p].by, f.Cells[q].by), cmp.Compare(p, q)) })
	for _, p := range removed[:max(0, len(removed)-maxRemoved)] {
		f.remove(p)
	}
}

// parts are what still counts of changes, by operation.
type parts map[*Operation]*Change

func (p parts) of(o *Operation) *Change {
	if p[o] == nil {
		p[o] = &Change{Set: map[Pointer]json.RawMessage{}}
	}
	return p[o]
}

// cells takes what the cells of a fold hold.
func (p parts) cells(fold Fold) {
	for at, cell := range fold.Cells {
		if cell.Value != nil {
			p.of(cell.by).Set[at] = cell.Value
		} else {
			p.of(cell.by).Unset = append(p.of(cell.by).Unset, at)
		}
	}
	if fold.whole != nil {
		p.of(fold.whole).Whole = true
	}
	for _, part := range p {
		slices.Sort(part.Unset)
	}
}

// tangled takes all that ops have set at and below paths where a value and what would be below it have taken each other's place: what
// stands there in the end depends on each of them, should something late come between.
func (p parts) tangled(fold Fold, ops, late []*Operation) {
	if len(late) == 0 {
		return
	}
	roots := tangles(slices.Concat(ops, late))
	if len(roots) == 0 {
		return
	}
	in := func(at Pointer) bool {
		return slices.ContainsFunc(roots, func(root Pointer) bool { return root.Contains(at) })
	}
	for _, o := range ops {
		if o.Change == nil || fold.whole != nil && Compare(o, fold.whole) < 0 {
			continue
		}
		for at, v := range o.Change.Set {
			if in(at) {
				p.of(o).Set[at] = v
			}
		}
		for _, at := range o.Change.Unset {
			if part := p.of(o); in(at) && !slices.Contains(part.Unset, at) {
				part.Unset = append(part.Unset, at)
				slices.Sort(part.Unset)
			}
		}
	}
}

// tangles lists the paths at which one of ops sets a value that has nothing below it, or another container than another one, and
// below which one of them sets or removes something.
func tangles(ops []*Operation) []Pointer {
	ends := map[Pointer]bool{}
	containers := map[Pointer]string{}
	for _, o := range ops {
		for at, v := range changed(o) {
			if before, known := containers[at]; isContainer(v) && (!known || before == string(v)) {
				containers[at] = string(v)
			} else {
				ends[at] = true
			}
		}
	}
	found := map[Pointer]bool{}
	below := func(at Pointer) {
		for at != "" {
			if at = at.parent(); ends[at] {
				found[at] = true
			}
		}
	}
	for _, o := range ops {
		for at := range changed(o) {
			below(at)
		}
		if o.Change != nil {
			for _, at := range o.Change.Unset {
				below(at)
			}
		}
	}
	return sortedPointers(found)
}

func changed(o *Operation) map[Pointer]json.RawMessage {
	if o.Change == nil {
		return nil
	}
	return o.Change.Set
}

// counters takes what was added to numbers: the last operation that has added to one stands for all.
func (p parts) counters(h *History, fold Fold, in, counts func(*Operation) bool) {
	adding := h.adding(in)
	for _, at := range sortedPointers(adding) {
		setter, unseen := fold.uncounted(h, at, adding[at])
		sum, last := zero, (*Operation)(nil)
		for _, o := range h.once(unseen, counts) {
			if by, err := parseDecimal(string(o.Change.Add[at].By)); err == nil {
				sum, last = sum.plus(by), o
			}
		}
		switch {
		case last == nil && len(unseen) == 0:
			continue
		case last == nil: // it tells where the number began
			last = unseen[0]
			sum, _ = parseDecimal(string(last.Change.Add[at].By))
		}
		add := Increment{By: sum.number()}
		if cell, set := fold.Cells[at]; !set || cell.Value == nil {
			if from, known := firstSeen(h, at, setter, unseen); known {
				add.From = from.number()
			}
		}
		part := p.of(last)
		if part.Add == nil {
			part.Add = map[Pointer]Increment{}
		}
		part.Add[at] = add
	}
}

// reduce returns what a checkpoint keeps of an operation that everything later has seen.
func (h *History) reduce(o *Operation, part *Change, absolute bool) *Operation {
	switch {
	case o.Type == TypePlace:
		return o
	case o.Type == TypeAction && o.Change == nil, o.Type == TypeDelete:
		part = nil
	case part == nil:
		part = &Change{}
	}
	kept := *o
	kept.Change, kept.Found = part, nil // the checkpoint tells it
	switch {
	case o.Type == TypeCreate && !o.opaque():
		kept.Body, kept.Blob = h.bodyOf(o, part), nil
	case o.Type != TypeCreate && !absolute:
		kept.Body, kept.Blob = nil, nil
	}
	if absolute && o.Change == nil {
		kept.Change = nil
	}
	return &kept
}

// bodyOf is the body of a create, which is JSON, of which this part still counts.
func (h *History) bodyOf(create *Operation, part *Change) []byte {
	before, after := newFold(h), newFold(h)
	before.apply(h, create)
	rest := *create
	rest.Change = part
	after.apply(h, &rest)
	body, err := before.Difference(after).ApplyTo(h.kind, create.representation())
	if err != nil {
		return create.representation()
	}
	return body
}

// opaque reports whether a create's body is bytes of which nothing can be told.
func (o *Operation) opaque() bool {
	_, err := parseJSON(o.representation())
	return err != nil
}

// shorten takes out of what the kept operations have seen whatever is not kept: nothing asks for it any more. What a placement
// change has seen is what the replicas begin with that it adds.
func (c *Checkpoint) shorten() {
	lines := map[Line]bool{}
	for _, o := range slices.Concat(c.Kept, c.Late) {
		lines[o.Line()] = true
	}
	for i, o := range c.Kept {
		if o.Type == TypePlace {
			continue
		}
		short := *o
		short.Seen = maps.Clone(o.Seen)
		maps.DeleteFunc(short.Seen, func(name Line, _ uint64) bool { return !lines[name] })
		c.Kept[i] = &short
	}
}
