package view

import (
	"slices"

	"github.com/skerry/skerry/engine"
)

// Epoch is one of the documents of a resource. A resource has one, and a second one from when the first has grown long until
// every member writes in the second and has all that the first has.
type Epoch struct {
	Number uint64
	// Tips tell where each author's line stands. First is the tip before anybody has written.
	Tips  map[engine.SiteID]engine.Tip
	First engine.Tip
	// Operations counts the operations in it, Bytes their size.
	Operations, Bytes int
	digest            engine.Fingerprint // of its changes
}

// Epochs are the documents of a resource, oldest first.
type Epochs []*Epoch

// NewEpoch returns an epoch in which nobody has written.
func NewEpoch(number uint64, first engine.Tip) *Epoch {
	return &Epoch{Number: number, First: first, Tips: map[engine.SiteID]engine.Tip{}}
}

// Tip is where an author's line stands.
func (e *Epoch) Tip(s engine.SiteID) engine.Tip {
	if t, ok := e.Tips[s]; ok {
		return t
	}
	return e.First
}

// Changes counts the changes in the document.
func (e *Epoch) Changes() (n uint64) {
	for _, t := range e.Tips {
		n += t.Number
	}
	return n
}

// Wrote takes note that a change is here, whose entries are taken in apart.
func (e *Epoch) Wrote(c *engine.Change) {
	e.Tips[c.Author] = c.Tip()
	e.digest.Add(engine.FingerprintOfHash(c.Hash))
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
	if e := v.Numbered(st.Epoch); e == nil && st.Epoch > v.Current().Number || e != nil && e.Tips[s].Number < st.Changes {
		return true
	}
	return st.Epoch > 0 && len(v.Epochs) > 1 && v.Current().Number == st.Epoch && v.Epochs[0].Tips[s].Number < st.Final
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

// Whole reports whether this site has all that any member has written in the epoch before the current one.
func (v *View) Whole() bool {
	if len(v.Epochs) == 1 {
		return true
	}
	for _, m := range v.Correspondents() {
		if m != v.Self && (!v.Reached(v.At(m)) || v.Lacks(m)) {
			return false
		}
	}
	return true
}
