package site

import (
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// taking is one name that a request is making or ending an object of: one at a time, whichever document it is for.
type taking struct {
	by engine.DocumentID
	// waiting are the documents that have found it taken.
	waiting []engine.DocumentID
}

func (w *wakeUp) takeName(name nameOf, by engine.DocumentID) bool {
	t := w.s.takings[name]
	if t == nil {
		w.s.takings[name] = &taking{by: by}
		return true
	}
	if t.by == by {
		return true
	}
	if !slices.Contains(t.waiting, by) {
		t.waiting = append(t.waiting, by)
	}
	return false
}

func (w *wakeUp) freeName(name nameOf, by engine.DocumentID) {
	t := w.s.takings[name]
	if t == nil || t.by != by {
		return
	}
	delete(w.s.takings, name)
	for _, id := range t.waiting {
		w.wakeLater(id, &replica.News{Hurry: true})
	}
}

// making reports whether a request is out that makes the object of another resource of a kind than r.
func making(s *Site, k *engine.Kind, r *resident) bool {
	for _, other := range s.residents.by {
		if other != r && other.Kind == k && other.Busy() && other.Mine.Local == "" && !other.Me.Rejoins {
			return true
		}
	}
	return false
}

// rivals are the claims of the other resources of a name, those that are past everywhere left out.
func (w *wakeUp) rivals(r *resident) []view.Claim {
	s := w.s
	if !r.namesKnown {
		same, err := s.cfg.Store.SameName(w.ctx, r.View.About.Service, r.View.About.Kind, r.View.About.Key)
		if err != nil {
			s.note(r.id, "find other resources of its name", err)
		}
		for _, id := range same {
			r.addRival(id)
		}
		r.namesKnown = err == nil
	}
	var claims []view.Claim
	for _, id := range r.rivals {
		if other, err := s.reach(w.ctx, id, nil); err == nil && !other.About.Chooses() {
			claims = append(claims, flight.ClaimOf(other.View, &other.Flights))
		}
	}
	return claims
}

// addRival takes note of another resource of its name. They are in one order.
func (r *resident) addRival(id engine.DocumentID) {
	if at, known := slices.BinarySearch(r.rivals, id); id != r.id && !known {
		r.rivals = slices.Insert(r.rivals, at, id)
	}
}
