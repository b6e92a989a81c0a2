package view

import (
	"errors"
	"fmt"
	"time"

	"github.com/skerry/skerry/engine"
)

// Verdict says what becomes of a change from outside.
type Verdict int

const (
	// Taken: it was the next of its author's line and is part of the view now.
	Taken Verdict = iota
	// Known: it was here before, or its line does not count any more.
	Known
	// Missing: it does not follow what is here, or who has let its author in is still to come.
	Missing
	// Forked: its author has signed another change under its number, which was heard first and stays.
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
	tip := e.Tip(c.Author)
	switch {
	case c.Number == tip.Number && c.Hash != tip.Hash && tip.Number > 0:
		return Forked
	case c.Number <= tip.Number:
		return Known
	case !v.writers[c.Author] || !tip.Follows(c):
		return Missing
	}
	was := v.Part(c.Author)
	v.Wrote(e, c)
	v.TakeEntries(e, c.Author, c.Entries, admits, note)
	if was != v.Part(c.Author) {
		v.TouchAll()
	}
	return Taken
}

// Wrote takes note that a change is here, whose entries are taken in apart.
func (v *View) Wrote(e *Epoch, c *engine.Change) {
	e.Tips[c.Author] = c.Tip()
	f := engine.FingerprintOfHash(c.Hash)
	e.digest.Add(f)
	v.digest.Add(f)
}

// TakeEntries takes in what a change of an author holds, its own among them.
func (v *View) TakeEntries(e *Epoch, author engine.SiteID, entries []engine.Entry, admits func(*engine.Operation) bool, note func(error)) {
	for _, entry := range entries {
		if err := v.takeEntry(e, author, entry, admits); err != nil {
			note(fmt.Errorf("entry of %s in %s: %w", author, entry.Map, err))
		}
	}
}

var errNotAdmitted = errors.New("this site's catalog sees another kind or type in the operation")

func (v *View) takeEntry(e *Epoch, author engine.SiteID, entry engine.Entry, admits func(*engine.Operation) bool) error {
	switch entry.Map {
	case engine.MapOperations:
		o := &engine.Operation{}
		if err := engine.Decode(entry.Value, o); err != nil {
			return err
		}
		o.Origin, o.Epoch = author, e.Number
		if err := o.Validate(); err != nil {
			return err
		}
		e.Operations++
		e.Bytes += len(entry.Value)
		if o.Place != nil {
			for _, s := range o.Place.Add {
				if !v.writers[s] {
					v.writers[s], v.expected[s] = true, true
				}
			}
		}
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
		if v.newest(inner{site: author}, e.Number) {
			v.replicas[author] = r
		}
	case engine.MapFacts:
		var f engine.Fact
		if err := engine.Decode(entry.Value, &f); err != nil {
			return err
		}
		v.History.AddFact(f)
	case engine.MapDecisions:
		var d engine.Decision
		if err := engine.Decode(entry.Value, &d); err != nil {
			return err
		}
		if d.By != author {
			return engine.ErrRefused
		}
		v.decided(d)
	case engine.MapContents:
		var c engine.Inner
		if err := engine.Decode(entry.Value, &c); err != nil {
			return err
		}
		return v.takeInner(author, c, e.Number)
	}
	return nil
}

// newest reports whether what a site says of something in an epoch is not older than what is known: lines of two epochs come in any
// order.
func (v *View) newest(of inner, epoch uint64) bool {
	if epoch < v.saidIn[of] {
		return false
	}
	if epoch > 0 {
		v.saidIn[of] = epoch
	}
	return true
}

// AddOperation takes an operation in.
func (v *View) AddOperation(o *engine.Operation) {
	complete := v.History.Add(o)
	v.Large = v.Large || o.Blob != nil
	for _, c := range complete {
		v.Touched[c.ID] = true
		if at := engine.Time(c.Time); v.CreatedAt.IsZero() || at.Before(v.CreatedAt) {
			v.CreatedAt = at
		}
		if c.Place != nil {
			for _, s := range c.Place.Add {
				delete(v.expected, s)
			}
			v.placed = nil
			v.TouchAll()
		}
	}
}

// TakeStatus takes in a status that another site has signed. Its decoding was checked. It reports whether it is newer than
// what was known, and is nothing else; ErrMissing: who has let its site in is still to come.
func (v *View) TakeStatus(st *engine.Status, signed engine.SignedStatus) (news bool, err error) {
	site := signed.Site
	if !v.writers[site] {
		return false, fmt.Errorf("status of %s: %w: what has added it", site, engine.ErrMissing)
	}
	old := v.statuses[site]
	if old != nil && old.Number >= st.Number {
		return false, nil
	}
	if old != nil {
		v.digest.Sub(digestOf(site, old.Number))
	}
	v.digest.Add(digestOf(site, st.Number))
	was, wasPart := nothing, v.Part(site)
	if old != nil {
		was = *old
	}
	v.statuses[site], v.signed[site] = st, signed
	if wasPart != v.Part(site) || (was.Left == nil) != (st.Left == nil) {
		v.TouchAll()
		return true, nil
	}
	v.touchNews(site, &was, st)
	return true, nil
}

// touchNews has the rows of those operations written again of which a new status of a site tells something else.
func (v *View) touchNews(site engine.SiteID, was, is *engine.Status) {
	halted := len(was.Waits) > 0 || len(is.Waits) > 0
	for _, o := range v.History.Ordered() {
		before, now := o.Number <= was.Settled[o.Origin], o.Number <= is.Settled[o.Origin]
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

// Tell makes what this site says of itself a status, if that is news: it gets a number, and the digest counts it. At is the
// site's clock.
func (v *View) Tell(at time.Time) (encoded []byte, news bool) {
	told := v.Me.Number
	v.tidings(&v.Me)
	v.Me.Object = v.Mine.Local != ""
	v.Me.Outcomes = v.toldOutcomes()
	number, when := v.Me.Number, v.Me.At
	same := v.Me
	same.Number, same.At = 0, 0
	now := engine.Encode(&same)
	if told > 0 && string(now) == v.lastTold {
		return nil, false
	}
	v.lastTold = string(now)
	v.Me.Number, v.Me.At = max(number, v.heardOfMe)+1, max(when+1, at.UnixMicro())
	if told > 0 {
		v.digest.Sub(digestOf(v.Self, told))
	}
	v.digest.Add(digestOf(v.Self, v.Me.Number))
	return engine.Encode(&v.Me), true
}

// toldOutcomes are those of this site's outcomes that others are told: the newest.
func (v *View) toldOutcomes() map[engine.OperationID]engine.Outcome {
	if len(v.Mine.Outcomes) <= engine.MaxOutcomes {
		if len(v.Mine.Outcomes) == 0 {
			return nil
		}
		return v.Mine.Outcomes
	}
	return newestOutcomes(v.Mine.Outcomes, engine.MaxOutcomes)
}

// digestOf is what a status of a number adds to the digest of its document.
func digestOf(site engine.SiteID, number uint64) engine.Fingerprint {
	return engine.FingerprintOf("status", []byte(site), engine.Number(number))
}

// HeardOfMe takes in that another site has a status of this one of a number. It reports whether this site has not given that number.
func (v *View) HeardOfMe(number uint64) bool {
	if number <= v.Me.Number {
		return false
	}
	v.heardOfMe = max(v.heardOfMe, number)
	return true
}

// Numbers has this site number its statuses on from a number, which others may have one of.
func (v *View) Numbers(from uint64) {
	if v.Me.Number > 0 {
		v.digest.Sub(digestOf(v.Self, v.Me.Number))
	}
	if v.Me.Number = from; from > 0 {
		v.digest.Add(digestOf(v.Self, from))
	}
}

// LastNumber is the highest number of a status of this site's that is known of, here or elsewhere.
func (v *View) LastNumber() uint64 { return max(v.Me.Number, v.heardOfMe) }
