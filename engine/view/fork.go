package view

import (
	"bytes"
	"maps"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// ForkedLines are the lines of a resource that are forked: what counts of each ends before its fork. Who has ever been told of a fork keeps it, so
// that sites agree in the end whatever they had heard first: of two forks of one line the earlier counts.
type ForkedLines struct {
	Forks map[engine.Line]*engine.Fork
	// last are the numbers of the last operations that count in these lines.
	last map[engine.Line]uint64
	// Stale says that the view has operations that do not count any more: another one, made of what counts, is to take its place.
	Stale bool
}

// Voids reports whether a change of a line does not count.
func (f *ForkedLines) Voids(l engine.Line, epoch, number uint64) bool {
	fork := f.Forks[l]
	return fork != nil && fork.Voids(epoch, number)
}

// Lines lists the forked lines, in one order.
func (f *ForkedLines) Lines() []engine.Line { return slices.Sorted(maps.Keys(f.Forks)) }

// Forker reports whether a line of a site is forked: its word on what others have is worth nothing.
func (f *ForkedLines) Forker(s engine.SiteID) bool {
	return slices.ContainsFunc(f.Lines(), func(l engine.Line) bool { return l.Site() == s })
}

// digest is what the forks add to the digest of their resource.
func (f *ForkedLines) digest() (sum engine.Fingerprint) {
	for l, fork := range f.Forks {
		sum.Add(engine.FingerprintOf("fork", []byte(l), engine.Number(fork.Epoch), engine.Number(fork.Number)))
	}
	return sum
}

// Fork takes in a fork that was known before: what does not count of its line is not in the view.
func (f *ForkedLines) Fork(fork engine.Fork) {
	if f.Forks == nil {
		f.Forks, f.last = map[engine.Line]*engine.Fork{}, map[engine.Line]uint64{}
	}
	f.Forks[fork.Line] = &fork
}

// see takes what does not count out of what an operation has seen: it has seen what is left of the line, all of it.
func (f *ForkedLines) see(o *engine.Operation) {
	for l, last := range f.last {
		switch {
		case l == o.Line || o.Seen[l] <= last:
		case last == 0:
			delete(o.Seen, l)
		default:
			o.Seen[l] = last
		}
	}
}

// End finds out where the operations of forked lines end: with those of a checkpoint, or of changes that are about to be taken in, which are all
// that count.
func End(v *View, changes []*engine.Change) {
	for l := range v.Forks {
		v.last[l] = v.History.Last(l)
	}
	for _, c := range changes {
		if v.Forks[c.Line] == nil {
			continue
		}
		for _, entry := range c.Entries {
			var o engine.Operation
			if entry.Map == engine.MapOperations && engine.Decode(entry.Value, &o) == nil {
				v.last[c.Line] = max(v.last[c.Line], o.Number)
			}
		}
	}
}

// ForkBy returns the fork that a change proves together with what is here: its author has signed another change under its number, or another
// one that it should follow. Nil: it proves nothing that was not known.
func ForkBy(v *View, c *engine.Change) *engine.Fork {
	e := v.Numbered(c.Epoch)
	if e == nil {
		return nil
	}
	f, written := &engine.Fork{Line: c.Line, Epoch: c.Epoch, Number: c.Number}, e.hashes[c.Line]
	switch last := uint64(len(written)); {
	case c.Number > 0 && c.Number <= last && c.Hash != written[c.Number-1]:
	case last > 0 && c.Number == last+1 && c.Previous != written[last-1]:
		f.Number = last
	default:
		return nil
	}
	if known := v.Forks[c.Line]; known != nil && !f.Before(known) {
		return nil
	}
	f.Stands = over(v, e, c.Author())
	return f
}

// ForkOf returns the fork that two changes of an epoch prove which is over here; nil: none, or one that was known.
func ForkOf(v *View, changes []*engine.Change) *engine.Fork {
	if len(changes) != 2 || !changes[0].Forks(changes[1]) || changes[0].Epoch >= v.Epochs[0].Number || !v.Writes(changes[0].Author()) {
		return nil
	}
	f := &engine.Fork{Line: changes[0].Line, Epoch: changes[0].Epoch, Number: changes[0].Number, Stands: true}
	if known := v.Forks[f.Line]; known != nil && !f.Before(known) {
		return nil
	}
	return f
}

// HasAll reports whether all operations that a vector counts are here, and complete; those of forked lines need not be.
func HasAll(v *View, counted engine.Vector) bool {
	for l, n := range counted {
		if v.Forks[l] == nil && n > v.History.Last(l) {
			return false
		}
	}
	return true
}

// Apart reports whether a member that is to be believed has something else in the epoch before the current one than is here: nobody has let go
// of that yet.
func Apart(v *View) bool {
	return slices.ContainsFunc(v.Correspondents(), func(m engine.SiteID) bool {
		sum := v.At(m).Sum
		return m != v.Self && sum != nil && !bytes.Equal(sum, v.Sum()) && !v.Forker(m)
	})
}

// over reports whether a member, but for one, has let go of an epoch that is here: then nothing of it changes any more.
func over(v *View, e *Epoch, but engine.SiteID) bool {
	return slices.ContainsFunc(v.Correspondents(), func(s engine.SiteID) bool {
		st := v.At(s)
		return s != v.Self && s != but && st.Epoch > e.Number && st.Over
	})
}

// TakeFork takes in a fork that is news. Shown tells which operations the application here may show: what they have set is to be taken back.
// Operations of it stay in the view until Recast.
func TakeFork(v *View, f engine.Fork, shown func(*engine.Operation) bool) {
	v.Fork(f)
	undo(v, shown)
	v.Me.Shown, v.Stale = nil, true
	v.Changed()
}

// undo takes note of what is to be taken back.
func undo(v *View, shown func(*engine.Operation) bool) {
	noted := func(o *engine.Operation) bool {
		return slices.ContainsFunc(v.Mine.Undo, func(u Undone) bool { return u.Operation.ID == o.ID && u.Line == o.Line })
	}
	counts := merge.Pick{In: func(o *engine.Operation) bool { return !v.Voids(o.Line, o.Epoch, o.Change) }}
	exists := v.History.Exists(counts.In)
	var bytes map[string]*engine.Operation
	for _, o := range Void(v) {
		if !shown(o) || noted(o) {
			continue
		}
		v.Mine.Undo = append(v.Mine.Undo, Undone{Line: o.Line, Operation: engine.Operation{ID: o.ID, Type: o.Type, Number: o.Number, Time: o.Time, Edit: o.Edit}})
		switch {
		case o.Type == engine.TypeCreate && !exists:
			v.Mine.Local = "" // the object stays, and is nobody's
		case o.Type == engine.TypeAbsolute:
			if bytes == nil {
				bytes = v.History.Whole(counts).Absolute
			}
			if last := bytes[o.Path]; last != nil && v.settles(last) {
				v.Became(last.ID, engine.Outcome{State: engine.StatePending, Again: true})
			}
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

// Void lists the operations that are still in the view and do not count any more.
func Void(v *View) []*engine.Operation {
	return v.History.All(func(o *engine.Operation) bool { return v.Voids(o.Line, o.Epoch, o.Change) })
}

// Unsettle takes out of what is settled here what does not count any more. Where the operation does not count that had removed this site it
// joins anew: others have gone on without it.
func Unsettle(v *View) {
	for l, last := range v.last {
		switch {
		case v.Me.Settled[l] <= last:
		case last == 0:
			delete(v.Me.Settled, l)
		default:
			v.Me.Settled[l] = last
		}
	}
	if left := v.Me.Left; left != nil && len(v.Forks) > 0 && v.Holds(v.Self) && v.History.Get(left.By) == nil {
		v.Rejoin(v.LastNumber(), v.Mine.Made)
	}
}
