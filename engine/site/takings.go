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

func (w *wakeUp) takeName(k *engine.Kind, key engine.ResourceID, by engine.DocumentID) bool {
	name := nameOf{k.Service, k.Name, key}
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

func (w *wakeUp) freeName(k *engine.Kind, key engine.ResourceID, by engine.DocumentID) {
	name := nameOf{k.Service, k.Name, key}
	t := w.s.takings[name]
	if t == nil || t.by != by {
		return
	}
	delete(w.s.takings, name)
	for _, id := range t.waiting {
		w.wakeLater(id, &replica.News{Hurry: true})
	}
}

// freeNames frees what a replica that is forgotten has taken.
func (s *Site) freeNames(w *wakeUp, by engine.DocumentID) {
	for name, t := range s.takings {
		if t.by == by {
			delete(s.takings, name)
			for _, id := range t.waiting {
				w.wakeLater(id, &replica.News{Hurry: true})
			}
		}
	}
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
