package engine

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// Checkpoint stands in a history for operations that every site has settled and every other operation has seen. It keeps
// what still counts of them: nothing that comes after can be concurrent with any of them, so that only their fold does.
type Checkpoint struct {
	// Epoch is the first epoch of which it may lack something, and Seen counts for the lines from then on the operations that
	// it stands for.
	Epoch uint64          `json:"epoch,omitempty"`
	Seen  map[Line]uint64 `json:"seen"`
	// Time is the newest of their times, First the oldest: of the resource's creation.
	Time  int64 `json:"time"`
	First int64 `json:"first"`
	// Count is how many they are, those that are kept not counted.
	Count int `json:"count"`
	// Newest are those that no other of them has seen.
	Newest []OperationID `json:"newest"`
	// Kept are those that are still needed as they are, in order: the living creates, the newest of which holds the whole fold
	// as its change and in its body, so that the object can be made anew; the last opaque bytes of each path; an action of
	// unknown effect; those that a site has refused, without what they set; those that have changed the placement.
	Kept []*Operation `json:"kept,omitempty"`
	// By tells who had set the paths that the newest create holds.
	By map[Pointer]OperationID `json:"by,omitempty"`
	// Superseded are the newest of the values that were lost.
	Superseded []Superseded `json:"superseded,omitempty"`
	// Placed is the placement.
	Placed *Placed `json:"placed,omitempty"`
	// Upto is, for each origin, the time of its newest operation that it stands for.
	Upto map[SiteID]int64 `json:"upto,omitempty"`
	// MergeType is the media type that clients have sent merge patches with.
	MergeType string `json:"merge_type,omitempty"`
}

// A checkpoint keeps so many superseded values and refused operations.
const (
	maxSuperseded = 100
	maxRefused    = 32
)

// has reports whether c stands for operation o, or keeps it.
func (c *Checkpoint) has(o *Operation) bool {
	return c != nil && (o.Epoch < c.Epoch || o.Seq <= c.Seen[o.Line()])
}

// compactedUntil returns the newest time of what the checkpoint stands for, 0 without one.
func (h *History) compactedUntil() int64 {
	if h.base == nil {
		return 0
	}
	return h.base.Time
}

// Cut returns the largest set of operations within stable that every other known one has seen, as a vector. Stable must be
// closed: what it contains has seen nothing outside it.
func (h *History) Cut(stable map[Line]uint64) map[Line]uint64 {
	cut := maps.Clone(stable)
	for again := true; again; {
		again = false
		for _, o := range h.ordered {
			if o.Seq <= cut[o.Line()] || h.base.has(o) {
				continue
			}
			for name, n := range cut {
				if o.saw(name, n) {
					continue
				}
				again = true
				if cut[name] = o.Seen[name]; name == o.Line() {
					cut[name] = o.Seq - 1
				}
			}
		}
	}
	return cut
}

// Compact puts a checkpoint in the place of the operations that cut names, which is a result of Cut. Refused tells which of
// them a site has not applied, so that they go on being shown. It reports whether it has: a create of bytes that are not
// JSON cannot be folded with changes.
func (h *History) Compact(cut map[Line]uint64, refused func(*Operation) bool) bool {
	within := func(o *Operation) bool { return o.Seq <= cut[o.Line()] || h.base.has(o) }
	fresh := h.all(func(o *Operation) bool { return within(o) && !h.base.has(o) })
	if len(fresh) == 0 {
		return false
	}
	base := &Checkpoint{Seen: maps.Clone(cut), Upto: map[SiteID]int64{}}
	if h.base != nil {
		base.Count, base.First, base.Time, base.Epoch = h.base.Count+len(h.base.Kept), h.base.First, h.base.Time, h.base.Epoch
		base.MergeType = h.base.MergeType
		maps.Copy(base.Upto, h.base.Upto)
		for name, n := range h.base.Seen {
			base.Seen[name] = max(n, base.Seen[name])
		}
	}
	if !base.keep(h, within, refused) {
		return false
	}
	for _, o := range fresh {
		if base.First == 0 {
			base.First = o.Time
		}
		base.Time = max(base.Time, o.Time)
		base.Upto[o.Origin] = max(base.Upto[o.Origin], o.Time)
		if t := o.Header["Content-Type"]; o.Type == TypeMerge && t != "" && base.MergeType == "" {
			base.MergeType = t
		}
		if !slices.ContainsFunc(fresh, func(p *Operation) bool { return h.Before(o, p) }) {
			base.Newest = append(base.Newest, o.ID)
		}
	}
	slices.Sort(base.Newest)
	base.Count += len(fresh) - len(base.Kept)
	rest := slices.DeleteFunc(slices.Clone(h.ordered), within)
	h.stand(base, rest)
	return true
}

// all returns the operations for which in is true.
func (h *History) all(in func(*Operation) bool) []*Operation {
	return slices.DeleteFunc(slices.Clone(h.ordered), func(o *Operation) bool { return !in(o) })
}

// keep fills c with what still counts of the operations of h for which in is true.
func (c *Checkpoint) keep(h *History, in, refused func(*Operation) bool) bool {
	fold := FoldOf(h, in)
	c.Superseded = fold.Superseded[max(0, len(fold.Superseded)-maxSuperseded):]
	var undeclared *Operation
	var creates, stubs []*Operation
	for _, o := range h.Living(in) {
		switch {
		case o.Type == TypeCreate:
			creates = append(creates, o)
		case o.Type == TypeAction && o.Change == nil:
			undeclared = cmp.Or(undeclared, o)
		case o.Type == TypeAbsolute && fold.Absolute[o.Path] == o:
			c.Kept = append(c.Kept, o)
		case refused(o):
			stub := *o
			stub.Body, stub.Blob, stub.Change = nil, nil, &Change{}
			stubs = append(stubs, &stub)
		}
	}
	if undeclared != nil {
		c.Kept = append(c.Kept, undeclared)
	}
	c.Kept = append(c.Kept, stubs[max(0, len(stubs)-maxRefused):]...)
	if len(creates) == 0 {
		c.Kept = nil
	}
	var placing []*Operation
	c.Placed, placing = h.placementOf(in).placed()
	c.Kept = append(c.Kept, placing...)
	slices.SortFunc(c.Kept, Compare)
	if len(creates) == 0 {
		return true
	}
	for i, o := range creates {
		create := *o
		if i < len(creates)-1 {
			create.Body, create.Blob, create.Change = nil, nil, &Change{}
		} else if !c.hold(&create, h, in, fold) {
			return false
		}
		c.Kept = append(c.Kept, &create)
	}
	slices.SortFunc(c.Kept, Compare)
	return true
}

// hold makes create set all that fold holds.
func (c *Checkpoint) hold(create *Operation, h *History, in func(*Operation) bool, fold Fold) bool {
	whole := create.representation()
	if _, err := parseJSON(whole); err != nil {
		return len(fold.Cells) == 0
	}
	alone := newFold(h)
	alone.apply(h, create)
	body, err := alone.Difference(fold).ApplyTo(h.kind, whole)
	if err != nil {
		return false
	}
	create.Body, create.Blob, create.Found = body, nil, whereabouts(h.all(in))
	create.Change, c.By = &Change{Set: make(map[Pointer]json.RawMessage, len(fold.Cells)), Order: fold.order}, make(map[Pointer]OperationID, len(fold.Cells))
	for p, cell := range fold.Cells {
		c.By[p] = cell.By
		if cell.Value == nil {
			create.Change.Unset = append(create.Change.Unset, p)
		} else {
			create.Change.Set[p] = cell.Value
		}
	}
	slices.Sort(create.Change.Unset)
	return true
}

// forget takes the lines that are over in an epoch out of what is said of lines: all of theirs is in the checkpoint.
func (h *History) forget(epoch uint64) {
	base := *h.base
	base.Epoch, base.Seen = epoch-1, without(base.Seen, epoch)
	kept := map[Line]bool{}
	for _, o := range base.Kept {
		kept[o.Line()] = true
	}
	base.Kept = slices.Clone(base.Kept)
	for i, o := range base.Kept {
		c := *o
		c.Seen = maps.Clone(c.Seen)
		maps.DeleteFunc(c.Seen, func(name Line, _ uint64) bool { return name.over(epoch) && !kept[name] })
		base.Kept[i] = &c
	}
	for name, l := range h.lines {
		if name.over(epoch) {
			h.held -= len(l.waiting)
			delete(h.lines, name)
		}
	}
	h.stand(&base, h.all(func(o *Operation) bool { return !h.base.has(o) }))
}

// stand makes h consist of a checkpoint and the operations that follow it, beside those that wait.
func (h *History) stand(base *Checkpoint, rest []*Operation) {
	h.base = base
	for name, n := range base.Seen {
		l := h.line(name)
		l.ops, l.base = l.ops[min(n-l.base, uint64(len(l.ops))):], n
	}
	h.ordered = append(slices.Clone(base.Kept), rest...)
	slices.SortFunc(h.ordered, Compare)
	clear(h.byID)
	for _, o := range h.ordered {
		h.name(o)
	}
}

// setBy tells who has set a path that o sets.
func (h *History) setBy(o *Operation, p Pointer) OperationID {
	if h.base.has(o) {
		if id, ok := h.base.By[p]; ok {
			return id
		}
	}
	return o.ID
}
