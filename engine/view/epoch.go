package view

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// Epoch is one of the documents of a resource. A resource has one, and a second one from when the first has grown long until
// every member writes in the second and has all that the first has.
type Epoch struct {
	Number uint64
	// Lines are those that somebody has written in. First is the tip before that.
	Lines map[engine.Line]*Written
	First engine.Tip
	// Operations counts the operations in it, Bytes their size.
	Operations, Bytes int
	digest            engine.Fingerprint // of its changes
	operated          uint64             // of those of them that have operations
}

// Written is what is here of a line: where it stands, and the hashes of its changes by number.
type Written struct {
	engine.Tip
	hashes [][32]byte
}

// Epochs are the documents of a resource, oldest first.
type Epochs []*Epoch

// NewEpoch returns an epoch in which nobody has written.
func NewEpoch(number uint64, first engine.Tip) *Epoch {
	return &Epoch{Number: number, First: first, Lines: map[engine.Line]*Written{}}
}

// Tip is where a line stands.
func (e *Epoch) Tip(l engine.Line) engine.Tip {
	if w := e.Lines[l]; w != nil {
		return w.Tip
	}
	return e.First
}

// Changes counts the changes in the document.
func (e *Epoch) Changes() (n uint64) {
	for _, t := range e.Lines {
		n += t.Number
	}
	return n
}

// Wrote takes note that a change is here, whose entries are taken in apart.
func (e *Epoch) Wrote(c *engine.Change) {
	w := e.Lines[c.Line]
	if w == nil {
		w = &Written{}
		e.Lines[c.Line] = w
	}
	w.Tip, w.hashes = c.Tip(), append(w.hashes, c.Hash)
	if slices.ContainsFunc(c.Entries, func(entry engine.Entry) bool { return entry.Map == engine.MapOperations }) {
		e.operated += engine.FingerprintOfHash(c.Hash)[0]
	}
	e.digest.Add(engine.FingerprintOfHash(c.Hash))
}

// Open opens the epochs up to a number; first is the tip of the document of one.
func (all *Epochs) Open(number uint64, first func(epoch uint64) engine.Tip) {
	for last := all.Current().Number; last < number; last++ {
		*all = append(*all, NewEpoch(last+1, first(last+1)))
	}
}

// LastRun is the last run of a site of which a line is here, or by what it has said of itself; nil: nothing is known of that.
func (all Epochs) LastRun(by engine.SiteID, said *engine.Status) (run string) {
	of := func(l engine.Line) {
		if l.Site() == by {
			run = max(run, l.Run())
		}
	}
	for _, e := range all {
		for l := range e.Lines {
			of(l)
		}
	}
	if said != nil {
		for l := range said.Lines {
			of(l)
		}
	}
	return run
}

// Current is the epoch that this site writes in.
func (all Epochs) Current() *Epoch { return all[len(all)-1] }

// Numbered returns the epoch of a number, nil when it is not here.
func (all Epochs) Numbered(n uint64) *Epoch {
	for _, e := range all {
		if e.Number == n {
			return e
		}
	}
	return nil
}

// Reached reports whether the site of a status is known to write in the current epoch, and so in none before it.
func (all Epochs) Reached(st *engine.Status) bool {
	return st.Number > 0 && st.Epoch >= all.Current().Number
}

// Lacks reports whether a site has written something, or issued an operation, by what it says, that is not here yet.
func (v *View) Lacks(s engine.SiteID) bool {
	if s == v.Self || v.overdue[s] {
		return false
	}
	st := v.At(s)
	if st.Number == 0 {
		return false
	}
	e := v.Numbered(st.Epoch)
	if e == nil {
		return st.Epoch > v.Current().Number
	}
	return lacks(v, st, e, v.Epochs[0])
}

// lacks reports whether a site has written something that is not here, in an epoch or in the one before.
func lacks(v *View, st *engine.Status, e, before *Epoch) bool {
	for l, wrote := range st.Lines {
		if !v.Ends(l) && (e.Tip(l).Number < wrote.Changes || e != before && before.Tip(l).Number < wrote.Final) {
			return true
		}
	}
	return false
}

// LacksAny lists the sites that have said of changes that are not here.
func (v *View) LacksAny() []engine.SiteID {
	var ids []engine.SiteID
	for s := range v.Statuses.of {
		if v.Lacks(s) {
			ids = append(ids, s)
		}
	}
	slices.Sort(ids)
	return ids
}

// wrote tells how far the lines of a site have come that it has written in the current epoch, or in the one before, where it makes no more
// changes; nil: none has. Said is what it has told of them last.
func (all Epochs) wrote(by engine.SiteID, said *engine.Status, h *merge.History) map[engine.Line]engine.Wrote {
	var lines map[engine.Line]engine.Wrote
	tell := func(l engine.Line, changes, final uint64) {
		if l.Site() != by || changes+final == 0 {
			return
		}
		if lines == nil {
			lines = map[engine.Line]engine.Wrote{}
		}
		w := lines[l]
		lines[l] = engine.Wrote{Changes: w.Changes + changes, Final: w.Final + final, Issued: h.Issued(l)}
	}
	for l, tip := range all.Current().Lines {
		tell(l, tip.Number, 0)
	}
	if len(all) > 1 {
		for l, tip := range all[0].Lines {
			tell(l, 0, tip.Number)
		}
		return lines
	}
	if said.Epoch == all.Current().Number { // said already
		for l, w := range said.Lines {
			tell(l, 0, w.Final)
		}
	}
	return lines
}

// Operated is a digest of the changes that have operations.
func (all Epochs) Operated() (sum uint64) {
	for _, e := range all {
		sum += e.operated
	}
	return sum
}

// Whole reports whether this site has all that any member has written in the epoch before the current one, or has settled: that may be of a
// lost run, of which its author knows nothing.
func (v *View) Whole() bool {
	if len(v.Epochs) == 1 {
		return true
	}
	for _, m := range v.Correspondents() {
		if m != v.Self && (!v.Reached(v.At(m)) || v.Lacks(m) || !HasAll(v, v.At(m).Settled)) {
			return false
		}
	}
	return true
}

// done reports whether this site has settled all that is known here of the epoch before the current one, so that its status tells the others
// of each operation.
func done(v *View) bool {
	settled, base, current := v.SettledAt(v.Self), v.History.Base(), v.Current().Number
	return !slices.ContainsFunc(v.History.Ordered(), func(o *engine.Operation) bool { return o.Epoch < current && !base.Has(o) && !settled.Has(o) })
}
