package view

import (
	"cmp"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// ForkedLines are the lines of a resource that are forked: what counts of each ends before its fork. Who has ever been told of a fork keeps it, so
// that sites agree in the end whatever they had heard first.
type ForkedLines struct {
	engine.Forks
	// last are the numbers of the last operations that count in the lines that end.
	last map[engine.Line]uint64
	// Stale says that the view has operations that do not count any more, or lacks of others that they have seen more of a line that ends: another
	// one, made of what counts, is to take its place.
	Stale bool
}

// Forker reports whether a line of a site is forked: its word on what others have is worth nothing.
func (f *ForkedLines) Forker(s engine.SiteID) bool {
	for l := range f.Forks {
		if l.Site() == s {
			return true
		}
	}
	return false
}

// Forked lists the forks that say something each, in one order. Those of a site of which nothing counts from some epoch on are one from there on,
// which has no number, and names no run in its line.
func (f *ForkedLines) Forked() (list []engine.Fork) {
	for l, fork := range f.Forks {
		if from, all := f.All(l.Site()); all && fork.Epoch >= from {
			fork = engine.Fork{Line: engine.Line(l.Site()), Epoch: from, At: fork.At}
		}
		list = append(list, fork)
	}
	slices.SortFunc(list, func(a, b engine.Fork) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.At, b.At)) })
	return slices.CompactFunc(list, func(a, b engine.Fork) bool { return a.Line == b.Line })
}

// digest is what the forks add to the digest of their resource.
func (f *ForkedLines) digest() (sum engine.Fingerprint) {
	for _, fork := range f.Forked() {
		sum.Add(engine.FingerprintOf("fork", []byte(fork.Line), engine.Number(fork.Epoch), engine.Number(fork.Number)))
	}
	return sum
}

// Fork takes in a fork, and returns the line whose fork goes for it. What does not count of its line is not in the view, or it is Stale.
func (f *ForkedLines) Fork(fork engine.Fork) (gone engine.Line) {
	if f.Forks == nil {
		f.Forks, f.last = engine.Forks{}, map[engine.Line]uint64{}
	}
	return f.Put(fork)
}

// see takes what does not count out of what an operation has seen: it has seen what is left of the line, all of it.
func (f *ForkedLines) see(o *engine.Operation) {
	if len(f.Forks) > 0 {
		f.cut(o.Seen, o.Line)
	}
}

// cut takes what does not count out of a vector, but for one line.
func (f *ForkedLines) cut(counted engine.Vector, but engine.Line) {
	for l, n := range counted {
		if l == but || !f.Ends(l) || n <= f.last[l] {
			continue
		}
		if counted[l] = f.last[l]; f.last[l] == 0 {
			delete(counted, l)
		}
	}
}

// End finds out where the operations of forked lines end: with those of a checkpoint, or of changes that are about to be taken in, which are all
// that count.
func End(v *View, changes []*engine.Change) {
	if len(v.Forks) == 0 {
		return
	}
	for l, n := range v.History.Complete() {
		v.last[l] = n
	}
	for _, c := range changes {
		if v.Ends(c.Line) {
			v.last[c.Line] = max(v.last[c.Line], LastOf(c))
		}
	}
}

// LastOf returns the number of the newest operation of a change, 0 when there is none.
func LastOf(c *engine.Change) (n uint64) {
	for _, entry := range c.Entries {
		var o engine.Operation
		if entry.Map == engine.MapOperations && engine.Decode(entry.Value, &o) == nil {
			n = max(n, o.Number)
		}
	}
	return n
}

// ForkBy returns the fork that a change proves together with what is here: its author has signed another change under its number, or another
// one that it should follow. Nil: it proves nothing that was not known.
func ForkBy(v *View, c *engine.Change) *engine.Fork {
	e := v.Numbered(c.Epoch)
	if e == nil {
		return nil
	}
	f := &engine.Fork{Line: c.Line, Epoch: c.Epoch, Number: c.Number}
	var written [][32]byte
	if w := e.Lines[c.Line]; w != nil {
		written = w.hashes
	}
	switch last := uint64(len(written)); {
	case c.Number > 0 && c.Number <= last && c.Hash != written[c.Number-1]:
	case last > 0 && c.Number == last+1 && c.Previous != written[last-1]:
		f.Number = last
	default:
		return nil
	}
	if !v.News(f) {
		return nil
	}
	return f
}

// ForkOf returns the fork that two changes prove by themselves: what comes before them need not be here, since who has sent them may have
// let go of it. Nil: they prove none, or one that was known, or one of an epoch that this site keeps as it is.
func ForkOf(v *View, changes []*engine.Change) *engine.Fork {
	if len(changes) != 2 || !changes[0].Forks(changes[1]) {
		return nil
	}
	c := changes[0]
	f, e := &engine.Fork{Line: c.Line, Epoch: c.Epoch, Number: c.Number}, v.Numbered(c.Epoch)
	if !v.Writes(c.Author()) || !v.News(f) || e != nil && e != v.Current() && Keeps(v, c.Author()) {
		return nil
	}
	return f
}

// HasAll reports whether all operations that a vector counts are here, and complete; those of forked lines need not be.
func HasAll(v *View, counted engine.Vector) bool {
	for l, n := range counted {
		if !v.Ends(l) && n > v.History.Last(l) {
			return false
		}
	}
	return true
}

// TakeFork takes in a fork that is news. Shown tells which operations the application here may show: what they have set is to be taken back.
// Operations of it stay in the view until Recast. It returns the line whose fork goes for it.
func TakeFork(v *View, f engine.Fork, shown func(*engine.Operation) bool) (gone engine.Line) {
	gone = v.Fork(f)
	undo(v, shown)
	v.Me.Shown, v.Stale = nil, true
	v.Changed()
	return gone
}

// takeBack takes note of an operation whose effect here is to be put right.
func takeBack(v *View, o *engine.Operation) {
	v.Mine.Undo = append(v.Mine.Undo, Undone{Line: o.Line, Operation: engine.Operation{ID: o.ID, Type: o.Type, Number: o.Number, Time: o.Time, Edit: o.Edit}})
	v.Changed()
}

// undo takes note of what is to be taken back.
func undo(v *View, shown func(*engine.Operation) bool) {
	noted := func(o *engine.Operation) bool {
		return slices.ContainsFunc(v.Mine.Undo, func(u Undone) bool { return u.Operation.ID == o.ID && u.Line == o.Line })
	}
	counts := merge.Pick(func(o *engine.Operation) bool { return !void(v, o) })
	exists := v.History.Exists(counts)
	var bytes map[string]*engine.Operation
	for _, o := range Void(v) {
		if !shown(o) || noted(o) {
			continue
		}
		takeBack(v, o)
		switch {
		case o.Type == engine.TypeCreate && !exists:
			v.Mine.Local = "" // the object stays, and is nobody's
		case o.Type == engine.TypeAbsolute:
			if bytes == nil {
				bytes = v.History.Whole(counts).Absolute
			}
			putAgain(v, bytes[o.Path])
		}
	}
}

// Recast makes the view consist of what counts: all is one of the same resource that was made of that. What this site says of itself stays, and
// so does what others have said. Shown is as in TakeFork: what was under way then has ended.
func Recast(v *View, all *View, shown func(*engine.Operation) bool) {
	undo(v, shown)
	overdue := v.overdue
	*v.History = *all.History
	v.History.GiveUp()
	v.Epochs, v.Membership, v.ForkedLines, v.Contents, v.Decisions, v.Said = all.Epochs, all.Membership, all.ForkedLines, all.Contents, all.Decisions, all.Said
	v.CreatedAt, v.Refused, v.Large, v.Folds = all.CreatedAt, all.Refused, all.Large, false
	v.history, v.overdue = v.History, overdue
	Unsettle(v)
	v.TouchAll()
	v.Changed()
}

// void reports whether an operation that is in the view does not count any more. One of an epoch that is over stays.
func void(v *View, o *engine.Operation) bool {
	return o.Change > 0 && o.Epoch >= v.Epochs[0].Number && v.Voids(o.Line, o.Epoch, o.Change)
}

// Void lists the operations that are still in the view and do not count any more.
func Void(v *View) []*engine.Operation {
	return v.History.All(func(o *engine.Operation) bool { return void(v, o) })
}

// Unsettle takes out of what is settled here what does not count any more. Where the operation does not count that had removed this site it
// joins anew: others have gone on without it.
func Unsettle(v *View) {
	if len(v.Forks) == 0 {
		return
	}
	v.cut(v.Me.Settled, "")
	if left := v.Me.Left; left != nil && v.Holds(v.Self) && v.History.Get(left.By) == nil {
		v.Rejoin(v.LastNumber(), v.Mine.Made)
	}
}
