package engine

import (
	"maps"
	"slices"
)

// Checkpoint stands in a history for its first operations in order, all of which every site has settled. Nothing that comes
// after is unheard and concurrent with one of them. So it keeps those that a known, later one is concurrent with as they are, and
// of the others, which everything later has seen, what still counts of each.
type Checkpoint struct {
	// Epoch is the first epoch of which it may lack something, and Seen counts for the lines from then on the operations that
	// it stands for. Firm counts those of them that every later operation has seen.
	Epoch uint64          `json:"epoch,omitempty"`
	Seen  map[Line]uint64 `json:"seen"`
	Firm  map[Line]uint64 `json:"firm"`
	// Time is the newest of their times, First the oldest: of the resource's creation.
	Time  int64 `json:"time"`
	First int64 `json:"first"`
	// Count is how many they are, those that are kept not counted.
	Count int `json:"count"`
	// Newest are those of the firm ones that came last and that no other of them has seen.
	Newest []OperationID `json:"newest"`
	// Kept are those that everything later has seen and that still count, in order, each with that part of its change that
	// nothing has taken the place of: the living creates, with bodies of which the object can be made anew; the last opaque bytes
	// of each path; an action of unknown effect; those that a site has refused or is to apply once more, deletes with the creates that they have
	// ended and the last other delete of each; those that have changed the placement.
	Kept []*Operation `json:"kept,omitempty"`
	// Lost are those of Kept that have lost their effect.
	Lost []OperationID `json:"lost,omitempty"`
	// Late are the others, as they are.
	Late []*Operation `json:"late,omitempty"`
	// Order is in which order keyed arrays have their elements.
	Order map[Pointer][]string `json:"order,omitempty"`
	// Superseded are the newest of the values that they have taken from each other.
	Superseded []Superseded `json:"superseded,omitempty"`
	// Found tells where the resources are that they refer to.
	Found []Found `json:"found,omitempty"`
	// Placed is the placement.
	Placed *Placed `json:"placed,omitempty"`
	// Upto is, for each origin, the time of its newest operation that it stands for.
	Upto map[SiteID]int64 `json:"upto,omitempty"`
	// MergeType is the media type that clients have sent merge patches with.
	MergeType string `json:"merge_type,omitempty"`
}

// A checkpoint keeps so many superseded values, with at most so many bytes, removed paths and refused operations.
const (
	maxSuperseded      = 100
	maxSupersededBytes = 256 << 10
	maxRemoved         = 100
	maxRefused         = 32
)

// has reports whether c stands for operation o, or keeps it.
func (c *Checkpoint) has(o *Operation) bool {
	return c != nil && (o.Epoch < c.Epoch || o.Seq <= c.Seen[o.Line()])
}

// reduces reports whether c keeps o with a part of its change only.
func (c *Checkpoint) reduces(o *Operation) bool {
	if c == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(c.Kept, o, Compare)
	return found
}

// keepsValues reports whether c keeps of an action what still counts of what it sets and adds, and not what to send.
func (c *Checkpoint) keepsValues(o *Operation) bool {
	return o.Type == TypeAction && o.Change != nil && c.reduces(o)
}

// compactedUntil returns the newest time of what the checkpoint stands for, 0 without one.
func (h *History) compactedUntil() int64 {
	if h.base == nil {
		return 0
	}
	return h.base.Time
}

// Compact puts a checkpoint in the place of the first operations in order that stable contains. Refused tells which of them a
// site has not applied, so that they go on being shown. It reports whether there were any.
func (h *History) Compact(stable map[Line]uint64, refused func(*Operation) bool) bool {
	cut := h.cut(stable)
	within := func(o *Operation) bool { return h.base.has(o) || o.Seq <= cut[o.Line()] }
	fresh := h.all(func(o *Operation) bool { return within(o) && !h.base.has(o) })
	if len(fresh) == 0 {
		return false
	}
	base := &Checkpoint{Seen: cut, Upto: map[SiteID]int64{}}
	if old := h.base; old != nil {
		base.Count, base.First, base.Time, base.Epoch = old.Count+len(old.Kept)+len(old.Late), old.First, old.Time, old.Epoch
		base.MergeType = old.MergeType
		maps.Copy(base.Upto, old.Upto)
	}
	late := h.late(base, within)
	base.keep(h, within, among(late), refused)
	is := among(late)
	for _, o := range fresh {
		if base.First == 0 {
			base.First = o.Time
		}
		base.Time = max(base.Time, o.Time)
		base.Upto[o.Origin] = max(base.Upto[o.Origin], o.Time)
		if t := o.Header["Content-Type"]; o.Type == TypeMerge && t != "" && base.MergeType == "" {
			base.MergeType = t
		}
		if !is(o) && !slices.ContainsFunc(fresh, func(p *Operation) bool { return !is(p) && h.Before(o, p) }) {
			base.Newest = append(base.Newest, o.ID)
		}
	}
	if slices.Sort(base.Newest); base.Newest == nil && h.base != nil {
		base.Newest = h.base.Newest
	}
	base.Count += len(fresh) - len(base.Kept) - len(base.Late)
	base.Superseded = newest(FoldOf(h, within).Superseded, maxSuperseded)
	h.stand(base, h.all(func(o *Operation) bool { return !within(o) }))
	return true
}

// all returns the operations for which in is true.
func (h *History) all(in func(*Operation) bool) []*Operation {
	return slices.DeleteFunc(slices.Clone(h.ordered), func(o *Operation) bool { return !in(o) })
}

// forget takes the lines that are over in an epoch out of what is said of lines: all of theirs is in the checkpoint.
func (h *History) forget(epoch uint64) {
	base := *h.base
	base.Epoch, base.Seen, base.Firm = epoch-1, without(base.Seen, epoch), without(base.Firm, epoch)
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
	h.folded.reset()
	for name, n := range base.Seen {
		l := h.line(name)
		l.ops, l.base = l.ops[min(n-l.base, uint64(len(l.ops))):], n
	}
	h.ordered = slices.Concat(base.Kept, base.Late, rest)
	slices.SortFunc(h.ordered, Compare)
	clear(h.byID)
	clear(h.twice)
	for _, o := range h.ordered {
		h.name(o)
	}
}
