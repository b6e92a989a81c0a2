package site

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// ownHeard is called when another site has changes or statuses of this one that are not here: its disk was set back. What the
// lost run had done is not reconstructed: every resource is taken from the other sites anew, as an added site takes it.
func (w *wakeUp) ownHeard(r *resident) {
	s := w.s
	if !s.rejoins {
		s.rejoins = true
		s.met.begin(s.cfg.Self, w.now.Add(s.cfg.Limits.CompareWithin))
		s.cfg.Log.Warn("the disk of this site was set back: other sites know what it has said since; its resources are taken from them anew")
		ctx := w.ctx
		w.then(func() {
			if err := s.cfg.Members.Rejoins(ctx); err != nil {
				s.cfg.Log.Error("tell that the disk was set back", "err", err)
			}
		})
	}
	w.beginAnew(r.id)
}

// beginAnew has a resource taken from the others anew in the next wake-up: in this one it was stepped, and what came of that is kept.
func (w *wakeUp) beginAnew(id engine.DocumentID) {
	s := w.s
	s.anew = append(s.anew, id)
	w.then(func() { s.inbox.put(item{job: func(*wakeUp) {}}) })
}

// late is called when the others have let go of what this site has of a resource, since it was away for too long or did not belong to them.
func (w *wakeUp) late(r *resident) {
	w.s.cfg.Log.Warn("the other sites have gone on with a resource without this one: it is taken from them anew", "resource", string(r.About.Key))
	w.beginAnew(r.id)
}

// rejoin drops what is stored of a resource, but for what this site is still to do with it, and begins anew with nothing but the about. It
// comes before all else that a wake-up does with the resource.
func (w *wakeUp) rejoin(id engine.DocumentID) {
	s := w.s
	old, err := s.reach(w.ctx, id, nil)
	if err != nil || old.Me.Rejoins || len(old.Others()) == 0 {
		return
	}
	a := &about{old.View.About, old.Raw}
	left, own, number := old.Remains(), old.Own(), old.Me.Number
	w.forget(old, &engine.Refusal{Status: 503, Type: "rejoins", Detail: "this site joins anew; nothing has happened, try again later"})
	r, err := s.newResident(id, a)
	if err != nil {
		s.note(id, "begin a resource anew", err)
		return
	}
	r.stored, r.row, r.works, r.shared, r.rows, r.conflicts = old.stored, old.row, old.works, old.shared, old.rows, old.conflicts
	s.residents.add(r)
	r.Rejoin(left, own, number)
	for _, e := range old.Epochs {
		w.batch.Dropped = append(w.batch.Dropped, engine.EpochOf{Document: id, Epoch: e.Number})
	}
	k := w.of(r)
	k.changed, k.statuses = true, true
	w.stepOf(r, replica.Wake{})
}
