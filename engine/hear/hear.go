package hear

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/view"
)

// hearing is one message being taken in.
type hearing struct {
	*view.View
	flights *flight.Flights
	env     Env
	news    News
}

// Hear takes in what came from another site, and returns what comes of it.
func Hear(v *view.View, flights *flight.Flights, env Env, in *Said) *News {
	h := &hearing{View: v, flights: flights, env: env}
	h.said(in)
	return &h.news
}

// said takes it in. What is news is passed on to others, who may not have got it.
func (h *hearing) said(in *Said) {
	if f := view.ForkOf(h.View, in.Changes); f != nil {
		h.forked(f, in.Changes[0], in.Changes[1])
	}
	var told []Status
	if in.Checkpoint != nil && !h.Blank() { // they say whether the epochs that it stands for are over
		told = h.statuses(in)
	}
	if len(in.Changes) > 0 || in.Checkpoint != nil {
		if !h.hears(in) {
			h.statuses(in)
			return
		}
	}
	h.news.Taken = true
	pass := &Said{From: in.From, Epoch: in.Epoch}
	waiting := in.Changes
	for again := true; again; { // one of them may let in who has written another
		again = false
		var left []*engine.Change
		for _, c := range waiting {
			switch h.change(c) {
			case view.Taken:
				again = true
				pass.Changes = append(pass.Changes, c)
				h.Changed()
			case view.Missing:
				left = append(left, c)
			}
		}
		waiting = left
	}
	if len(waiting) > 0 {
		h.news.Missing = true
	}
	pass.Statuses = append(told, h.statuses(in)...)
	h.openNext()
	if len(pass.Changes)+len(pass.Statuses) > 0 {
		h.news.Pass = pass
	}
	switch part := h.Part(h.Self); {
	case part == view.PartNone && (in.More || h.History.Held() > 0 || h.news.Missing):
		h.news.Missing = true // what puts this site into the placement is still to come
	case part == view.PartNone, h.Part(in.From) == view.PartNone:
		h.news.Refused = true
	case len(h.LacksAny()) > 0:
		h.news.Missing = true
	}
	h.news.Fetch = append(h.news.Fetch, view.Wanted(h.View, h.env.HasBlob)...)
	h.news.Late = h.news.Late || h.Me.Rejoins && view.Barred(h.View)
}

// hears makes room for the epoch that changes belong to. It reports whether they are to be taken in: what belongs to an epoch that is
// over here is not.
func (h *hearing) hears(in *Said) bool {
	switch last := h.Current(); {
	case in.Checkpoint != nil && !h.Blank() && h.Part(in.From) == view.PartNone: // whoever has no part stands for nobody
		return false
	case in.Checkpoint != nil && view.Skips(h.View, in.Epoch):
		h.news.Late = view.TooLate(h.View, in.Epoch)
		h.news.Missing = !h.news.Late // the others are still to say so
		return false
	case h.Numbered(in.Epoch) != nil:
		return true
	case in.Epoch < last.Number:
		lost := func(c *engine.Change) bool {
			return c.Author() == h.Self && view.LastOf(c) > h.History.Issued(c.Line) && !h.Voids(c.Line, c.Epoch, c.Number)
		}
		if in.Epoch+1 == last.Number && !h.Me.Rejoins && slices.ContainsFunc(in.Changes, lost) { // and this site has ended that epoch without it
			h.news.Late = true
		}
		return false
	case in.Epoch == last.Number+1 && len(h.Epochs) == 1 && !h.Blank():
		h.Epochs = append(h.Epochs, view.NewEpoch(in.Epoch, in.First))
		h.Changed()
		return true
	case in.Checkpoint != nil && h.Blank():
		if err := h.Begin(in.Checkpoint); err != nil {
			h.env.Note(h.Document, "a checkpoint was not taken in", err)
			h.news.Refused = true
			return false
		}
		h.Epochs = []*view.Epoch{view.NewEpoch(in.Epoch, in.First)}
		h.news.Checkpoint = in.Checkpoint
		h.TouchAll()
		h.Changed()
		return true
	}
	h.news.Missing = true // the one before has to end here first, or its checkpoint is still to come
	return false
}

// change takes in one.
func (h *hearing) change(c *engine.Change) view.Verdict {
	e := h.Numbered(c.Epoch)
	old := e != nil && e != h.Current() // others may have ended it without this
	if f := view.ForkBy(h.View, c); f != nil && !(old && view.Keeps(h.View, c.Author())) {
		h.forked(f, nil, c)
		return view.Forked
	}
	if c.Author() == h.Self && !h.Me.Rejoins && e != nil && c.Number > e.Tip(c.Line).Number && !h.Voids(c.Line, c.Epoch, c.Number) {
		h.news.Behind = true
	}
	if old && view.KeepsOut(h.View, c.Author()) {
		return view.Known
	}
	return h.TakeChange(c, h.admits, func(err error) {
		h.env.Note(h.Document, "an entry of a document was left out", err)
	})
}

// forked takes in that two changes prove a fork; nil: the first one is here. Nothing is done before the view consists of what counts.
func (h *hearing) forked(f *engine.Fork, first, second *engine.Change) {
	f.At = h.Now
	instead := view.TakeFork(h.View, *f, flight.MayShow(h.View, h.flights))
	h.news.Forked = append(h.news.Forked, Forked{*f, first, second, instead})
}

// admits tells whether this site's catalog sees in an operation that has come what its origin says. It takes note of when a deletion of another site
// came.
func (h *hearing) admits(o *engine.Operation) bool {
	admits := h.env.Admits(h.Kind, o)
	if o.Type == engine.TypeDelete && o.Origin != h.Self {
		h.env.HearDelete(o)
	}
	return admits
}

// statuses takes in what sites say of themselves, and returns what is news.
func (h *hearing) statuses(in *Said) (news []Status) {
	for _, s := range in.Statuses {
		if s.Signed.Site == h.Self {
			h.ofMe(s.Status)
			continue
		}
		was := h.At(s.Signed.Site)
		fresh, err := h.TakeStatus(s.Status, s.Signed)
		switch {
		case err != nil:
			h.news.Missing = true
			continue
		case !fresh:
			continue
		}
		news = append(news, s)
		h.news.Behind = h.news.Behind || !h.Me.Rejoins && view.Lost(h.View, s.Status.Settled)
		h.news.Progress, h.Dirty = true, h.Dirty || !was.Plain() || !s.Status.Plain() || len(h.Epochs) > 1
		if s.Status.Asked > was.Asked {
			h.news.Look = true
		}
	}
	return news
}

// openNext opens the next epoch where a site says that it writes there: it may have written nothing yet.
func (h *hearing) openNext() {
	next := h.Current().Number + 1
	if len(h.Epochs) > 1 || h.Blank() || !slices.ContainsFunc(h.Others(), func(s engine.SiteID) bool { return h.At(s).Epoch == next }) {
		return
	}
	h.Epochs = append(h.Epochs, view.NewEpoch(next, h.env.FirstTip(h.About, next)))
	h.Changed()
}

// ofMe takes in what another site has of this one's own words: more than it knows itself means that its disk was set back.
func (h *hearing) ofMe(st *engine.Status) {
	if !h.HeardOfMe(st.Number) {
		return
	}
	h.news.Lost = st
	h.Changed()
	if !h.Me.Rejoins {
		h.news.Behind = true
	}
}
