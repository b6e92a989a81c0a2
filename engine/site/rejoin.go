package site

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// ownHeard is called when another site has changes or statuses of this one that are not here: its disk was set back. What the
// lost run had done is not reconstructed: each of its resources joins anew.
func (w *wakeUp) ownHeard(r *resident) {
	s := w.s
	if !s.rejoins {
		s.rejoins = true
		s.met.begin(s.cfg.Self, w.now.Add(s.cfg.Limits.CompareWithin))
		s.cfg.Log.Warn("the disk of this site was set back: other sites know what it has said since; its resources join anew")
		ctx := w.ctx
		w.then(func() {
			if err := s.cfg.Members.Rejoins(ctx); err != nil {
				s.cfg.Log.Error("tell that the disk was set back", "err", err)
			}
		})
	}
	w.beginAnew(anew{id: r.id})
}

// anew is a resource that joins anew: with the documents that are here, or where these are of no use to the others any more, with nothing but
// the about. Told is what has told so, which it begins with: another site may still give what the others have let go of. Nil: nothing has.
type anew struct {
	id    engine.DocumentID
	drops bool
	told  *opened
}

// beginAnew has a resource join anew in the next wake-up: in this one it was stepped, and what came of that is kept.
func (w *wakeUp) beginAnew(a anew) {
	s := w.s
	s.anew = append(s.anew, a)
	w.then(func() { s.inbox.put(item{job: func(*wakeUp) {}}) })
}

// late is called when the others have let go of what this site has of a resource, since it was away for too long or did not belong to them.
func (w *wakeUp) late(r *resident) {
	w.s.cfg.Log.Warn("the other sites have gone on with a resource without this one: it is taken from them anew", "resource", string(r.About.Key))
	w.beginAnew(anew{id: r.id, drops: true})
}

// rejoin has a resource join anew. It comes before all else that a wake-up does with the resource.
func (w *wakeUp) rejoin(a anew) {
	s, id := w.s, a.id
	old, err := s.reach(w.ctx, id, nil)
	if err != nil || old.Me.Rejoins && !a.drops || a.drops && len(old.Others()) == 0 {
		return
	}
	left, own := old.Remains(a.drops), old.Own
	if run := old.LastRun(s.cfg.Self, left.Lost); run > s.writes.line.Run() {
		s.writes.begin(s.cfg, run)
	}
	w.forget(old, &engine.Refusal{Status: 503, Type: "rejoins", Detail: "this site joins anew; nothing has happened, try again later"})
	var r *resident
	if a.drops || !old.stored { // of what only the lost run had written nothing may be here yet
		if a.drops {
			s.writes.begin(s.cfg, "") // what is dropped may have the end of the line of this run
		}
		if r, err = s.newResident(id, &about{old.View.About, old.Raw}); err == nil {
			r.stored, r.row, r.works, r.shared, r.rows, r.conflicts = old.stored, old.row, old.works, old.shared, old.rows, old.conflicts
		}
		for _, e := range old.Epochs {
			w.batch.Dropped = append(w.batch.Dropped, engine.EpochOf{Document: id, Epoch: e.Number})
		}
	} else {
		r, err = s.load(w.ctx, id)
	}
	if err != nil {
		s.note(id, "begin a resource anew", err)
		return
	}
	s.residents.add(r)
	r.Rejoin(left, own)
	k := w.of(r)
	k.changed, k.statuses = true, true
	if a.told == nil {
		w.stepOf(r, replica.Wake{})
		return
	}
	_, _ = w.heard(a.told) // what it builds on comes with the next comparison
}
