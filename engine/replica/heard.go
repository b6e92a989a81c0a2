package replica

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// heard takes in what came from another site. What is news is passed on to others, who may not have got it.
func (r *Replica) heard(in *Heard) {
	if f := view.ForkOf(r.View, in.Changes); f != nil {
		forked(r, f, in.Changes[0], in.Changes[1])
	}
	if len(in.Changes) > 0 || in.Checkpoint != nil {
		if !r.hears(in) {
			r.heardStatuses(in)
			return
		}
	}
	r.partly = in.More
	pass := &Heard{From: in.From, Epoch: in.Epoch}
	waiting := in.Changes
	for again := true; again; { // one of them may let in who has written another
		again = false
		var left []*engine.Change
		for _, c := range waiting {
			switch r.hear(c) {
			case view.Taken:
				again = true
				pass.Changes = append(pass.Changes, c)
				r.Changed()
			case view.Missing:
				left = append(left, c)
			}
		}
		waiting = left
	}
	if len(waiting) > 0 {
		r.out.Missing = true
	}
	pass.Statuses = r.heardStatuses(in)
	r.openNext()
	if len(pass.Changes)+len(pass.Statuses) > 0 {
		r.out.Pass = pass
	}
	switch part := r.Part(r.Self); {
	case part == view.PartNone && (in.More || r.History.Held() > 0 || r.out.Missing):
		r.out.Missing = true // what puts this site into the placement is still to come
	case part == view.PartNone, r.Part(in.From) == view.PartNone:
		r.out.Refused = true
	case len(r.LacksAny()) > 0:
		r.out.Missing = true
	}
	r.out.Fetch = append(r.out.Fetch, view.Wanted(r.View, r.env.HasBlob)...)
}

// hears makes room for the epoch that changes belong to. It reports whether they are to be taken in: what belongs to an epoch that is
// over here is not.
func (r *Replica) hears(in *Heard) bool {
	switch last := r.Current(); {
	case in.Checkpoint != nil && !r.Blank() && r.Part(in.From) == view.PartNone: // whoever has no part stands for nobody
		return false
	case in.Checkpoint != nil && view.TooLate(r.View, in.Epoch):
		r.fallBehind(true)
		return false
	case r.Numbered(in.Epoch) != nil:
		return true
	case in.Epoch < last.Number:
		lost := func(c *engine.Change) bool {
			return c.Author() == r.Self && c.Number > r.Me.Lines[c.Line].Final && !r.Voids(c.Line, c.Epoch, c.Number)
		}
		if in.Epoch+1 == last.Number && !r.Me.Rejoins && slices.ContainsFunc(in.Changes, lost) { // and this site has ended that epoch without it
			r.fallBehind(true)
		}
		return false
	case in.Epoch == last.Number+1 && len(r.Epochs) == 1 && !r.Blank():
		r.Epochs = append(r.Epochs, view.NewEpoch(in.Epoch, in.First))
		r.Changed()
		return true
	case in.Checkpoint != nil && r.Blank():
		if err := r.Begin(in.Checkpoint); err != nil {
			r.note("a checkpoint was not taken in", err)
			r.out.Refused = true
			return false
		}
		r.Epochs = []*view.Epoch{view.NewEpoch(in.Epoch, in.First)}
		r.out.Checkpoint = in.Checkpoint
		r.TouchAll()
		r.Changed()
		return true
	}
	r.out.Missing = true // the one before has to end here first, or its checkpoint is still to come
	return false
}

// hear takes in one change.
func (r *Replica) hear(c *engine.Change) view.Verdict {
	if f := view.ForkBy(r.View, c); f != nil {
		forked(r, f, nil, c)
		return view.Forked
	}
	e := r.Numbered(c.Epoch)
	if c.Author() == r.Self && !r.Me.Rejoins && e != nil && c.Number > e.Tip(c.Line).Number && !r.Voids(c.Line, c.Epoch, c.Number) {
		r.fallBehind(false)
		return view.Known
	}
	if e != nil && e != r.Current() && r.Whole() && !view.Apart(r.View) { // of a lost run, and the others may have ended that epoch without it
		return view.Known
	}
	verdict := r.TakeChange(c, func(o *engine.Operation) bool { return r.env.Admits(r.Kind, o) }, func(err error) {
		r.note("an entry of a document was left out", err)
	})
	for _, entry := range c.Entries {
		if verdict == view.Taken && entry.Map == engine.MapOperations {
			r.hearOperation(c, entry)
		}
	}
	return verdict
}

// forked takes in that two changes prove a fork; nil: the first one is here. Nothing is done before the view consists of what counts.
func forked(r *Replica, f *engine.Fork, first, second *engine.Change) {
	f.At = r.Now
	view.TakeFork(r.View, *f, mayShow(r))
	r.out.Forked = append(r.out.Forked, Forked{*f, first, second})
}

// mayShow tells which operations the application here shows, or may show.
func mayShow(r *Replica) func(*engine.Operation) bool {
	st := r.standing()
	return func(o *engine.Operation) bool {
		return st.Shows(o) || r.Sent != nil && r.Sent.Operation.ID == o.ID || r.Doubts[o.ID]
	}
}

// Recast has the replica consist of what counts, as it was made of what is stored.
func Recast(r *Replica, all *view.View) { view.Recast(r.View, all, mayShow(r)) }

// hearOperation takes note of when a deletion of another site came.
func (r *Replica) hearOperation(c *engine.Change, entry engine.Entry) {
	var o engine.Operation
	if engine.Decode(entry.Value, &o) == nil && o.Type == engine.TypeDelete && c.Author() != r.Self {
		o.Line, o.Origin = c.Line, c.Author()
		r.env.HearDelete(&o)
	}
}

// heardStatuses takes in what sites say of themselves, and returns what is news.
func (r *Replica) heardStatuses(in *Heard) (news []HeardStatus) {
	for _, s := range in.Statuses {
		if s.Signed.Site == r.Self {
			r.heardOfMe(s.Status)
			continue
		}
		was := r.At(s.Signed.Site)
		fresh, err := r.TakeStatus(s.Status, s.Signed)
		switch {
		case err != nil:
			r.out.Missing = true
			continue
		case !fresh:
			continue
		}
		news = append(news, s)
		r.progress, r.Dirty = true, r.Dirty || !was.Plain() || !s.Status.Plain() || len(r.Epochs) > 1
		if s.Status.Asked > was.Asked {
			r.look.Soon(r.env.Now())
		}
	}
	return news
}

// openNext opens the next epoch where a site says that it writes there: it may have written nothing yet.
func (r *Replica) openNext() {
	next := r.Current().Number + 1
	if len(r.Epochs) > 1 || r.Blank() || !slices.ContainsFunc(r.Others(), func(s engine.SiteID) bool { return r.At(s).Epoch == next }) {
		return
	}
	r.Epochs = append(r.Epochs, view.NewEpoch(next, r.env.FirstTip(r.About, next)))
	r.Changed()
}

// heardOfMe takes in what another site has of this one's own words: more than it knows itself means that its disk was set back.
func (r *Replica) heardOfMe(st *engine.Status) {
	if !r.HeardOfMe(st.Number) {
		return
	}
	r.past.lost = st
	if !r.Me.Rejoins {
		r.fallBehind(false)
	}
}
