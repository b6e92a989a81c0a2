package view

import (
	"errors"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// Verdict says what becomes of a change from outside.
type Verdict int

const (
	// Taken: it was the next of its line and is part of the view now.
	Taken Verdict = iota
	// Known: it was here before, or its line does not count any more.
	Known
	// Missing: it does not follow what is here, or who has let its author in is still to come.
	Missing
	// Forked: with what is here it proves that its line is forked (ForkBy).
	Forked
)

// TakeChange takes in a change of one of the view's epochs. Admits tells whether this site's catalog sees in an operation
// what its origin says; Name is set by it. An entry that makes no sense is left out: its author has signed it, and harms
// nothing but what it may write; note is told why.
func (v *View) TakeChange(c *engine.Change, admits func(*engine.Operation) bool, note func(error)) Verdict {
	e := v.Numbered(c.Epoch)
	if e == nil {
		return Missing
	}
	tip := e.Tip(c.Line)
	switch {
	case ForkBy(v, c) != nil:
		return Forked
	case c.Number <= tip.Number || v.Voids(c.Line, c.Epoch, c.Number):
		return Known
	case !v.Writes(c.Author()) || !tip.Follows(c):
		return Missing
	}
	was := v.Part(c.Author())
	e.Wrote(c)
	v.Stale = v.Stale || v.Ends(c.Line) // more of the line counts than others' operations were cut to
	v.TakeEntries(e, c.Line, c.Number, c.Entries, admits, note)
	if was != v.Part(c.Author()) {
		v.TouchAll()
	}
	return Taken
}

// TakeEntries takes in what a change of a line holds, this site's own among them.
func (v *View) TakeEntries(e *Epoch, line engine.Line, change uint64, entries []engine.Entry, admits func(*engine.Operation) bool, note func(error)) {
	for _, entry := range entries {
		if err := v.takeEntry(e, line, change, entry, admits); err != nil {
			note(fmt.Errorf("entry of %s in %s: %w", line, entry.Map, err))
		}
	}
}

var errNotAdmitted = errors.New("this site's catalog sees another kind or type in the operation")

// place is where a site has said something: in a later epoch it has said it later, and so has a later run. Lines come in any order.
type place struct {
	epoch uint64
	run   string
}

// after reports whether what was said in p comes after what was said in q, or there as well.
func (p place) after(q place) bool { return p.epoch > q.epoch || p.epoch == q.epoch && p.run >= q.run }

func (v *View) takeEntry(e *Epoch, line engine.Line, change uint64, entry engine.Entry, admits func(*engine.Operation) bool) error {
	author, in := line.Site(), place{e.Number, line.Run()}
	switch entry.Map {
	case engine.MapOperations:
		o := &engine.Operation{}
		if err := engine.Decode(entry.Value, o); err != nil {
			return err
		}
		o.Line, o.Origin, o.Epoch, o.Change = line, author, e.Number, change
		if err := o.Validate(); err != nil {
			return err
		}
		e.Operations++
		e.Bytes += len(entry.Value)
		if o.Place != nil {
			v.expect(o.Place)
		}
		v.see(o)
		if !admits(o) {
			v.Refused++
			return errNotAdmitted
		}
		v.AddOperation(o)
	case engine.MapReplicas:
		var r engine.Replica
		if err := engine.Decode(entry.Value, &r); err != nil {
			return err
		}
		if in.after(v.Said[author].in) {
			v.Said[author] = Said{r, in}
		}
	case engine.MapDecisions:
		var d engine.Decision
		if err := engine.Decode(entry.Value, &d); err != nil {
			return err
		}
		if d.By != author || len(d.User) > engine.MaxUser {
			return engine.ErrRefused
		}
		v.Decisions.take(d)
	case engine.MapContents:
		var c engine.Inner
		if err := engine.Decode(entry.Value, &c); err != nil {
			return err
		}
		return v.Contents.take(author, c, in)
	}
	return nil
}

// AddOperation takes an operation in.
func (v *View) AddOperation(o *engine.Operation) {
	complete := v.History.Add(o)
	v.Large = v.Large || o.Blob != nil
	for _, c := range complete {
		v.Touched[c.ID] = true
		MovedUp(v, c)
		if at := engine.Time(c.Time); v.CreatedAt.IsZero() || at.Before(v.CreatedAt) {
			v.CreatedAt = at
		}
		if c.Place != nil {
			v.place(c.Place)
			v.TouchAll()
		}
	}
}

// MovedUp has what an operation sets put right here where it was done in a later place than the one that counts now, on something else than there.
// What it had seen in the later place and has not in this one may lose its effect to it, and is put right as well; of a deletion, which ends
// what it has seen, the other way round, too.
func MovedUp(v *View, o *engine.Operation) {
	if o.Copy || v.Me.Settled.Has(o.Line, o.Number) {
		return
	}
	for _, c := range o.Copies {
		if !v.Me.Settled.Has(c.Line, c.Number) {
			continue
		}
		missed := func(p *engine.Operation) bool {
			saw, sees := c.Saw(p.Line, p.Number), o.Saw(p.Line, p.Number)
			return saw && !sees && v.History.Contests() || saw != sees && o.Type == engine.TypeDelete
		}
		for _, p := range v.History.Ordered() {
			if p != o && v.settles(p) && p.Edit != nil && missed(p) {
				takeBack(v, p)
			}
		}
		switch {
		case o.Edit != nil:
			takeBack(v, c)
		case o.Type == engine.TypeAbsolute:
			putAgain(v, v.History.Whole(merge.Any).Absolute[o.Path])
		}
	}
}

// putAgain has opaque bytes put here once more that others may have taken the place of.
func putAgain(v *View, o *engine.Operation) {
	if o != nil && v.settles(o) {
		v.Became(o.ID, engine.Outcome{State: engine.StatePending, Again: true})
	}
}

// TakeStatus takes in a status that another site has signed. Its decoding was checked. It reports whether it is newer than
// what was known, and is nothing else; ErrMissing: who has let its site in is still to come.
func (v *View) TakeStatus(st *engine.Status, signed engine.SignedStatus) (news bool, err error) {
	site := signed.Site
	if !v.Writes(site) {
		return false, fmt.Errorf("status of %s: %w: what has added it", site, engine.ErrMissing)
	}
	part := v.Part(site)
	was, news := v.newer(st, signed)
	if !news {
		return false, nil
	}
	if part != v.Part(site) || (was.Left == nil) != (st.Left == nil) {
		v.TouchAll()
	} else {
		touchNews(v, was, st)
	}
	return true, nil
}

// touchNews has the rows of those operations written again of which a new status tells something else.
func touchNews(v *View, was, is *engine.Status) {
	halted := len(was.Waits) > 0 || len(is.Waits) > 0
	for _, o := range v.History.Ordered() {
		before, now := o.In(was.Settled), o.In(is.Settled)
		if before != now || halted && !now {
			v.Touched[o.ID] = true
		}
	}
	for id, out := range is.Outcomes {
		if was.Outcomes[id] != out {
			v.Touched[id] = true
		}
	}
	for id := range was.Outcomes {
		if _, still := is.Outcomes[id]; !still {
			v.Touched[id] = true
		}
	}
}

// SayLines has a site say how far its lines have come, by the epochs that are here.
func SayLines(v *View) {
	v.Me.Lines, v.Me.Epoch = v.Epochs.wrote(v.Self, &v.Me, v.History), v.Current().Number
}

// Tell makes what this site says of itself a status, if that is news: it gets a number. At is the site's clock.
func (v *View) Tell(at time.Time) (encoded []byte, news bool) {
	SayLines(v)
	current := v.Current()
	v.Me.Whole, v.Me.Over = current.Number > 0 && v.Whole() && (v.Part(v.Self) != PartMember || done(v)), current.Number > 0 && len(v.Epochs) == 1
	v.Me.Sum = toldSum(v)
	if v.Me.Whole {
		v.Mine.Word = current.Number
	}
	return v.told(at.UnixMicro())
}
