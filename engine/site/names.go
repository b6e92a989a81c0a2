package site

import (
	"slices"

	"github.com/skerry/skerry/engine"
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
	name := nameOf{kindOf{k.Service, k.Name}, key}
	t := w.s.names[name]
	if t == nil {
		w.s.names[name] = &taking{by: by}
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
	name := nameOf{kindOf{k.Service, k.Name}, key}
	t := w.s.names[name]
	if t == nil || t.by != by {
		return
	}
	delete(w.s.names, name)
	for _, id := range t.waiting {
		w.wakeLater(id, &replica.News{Hurry: true})
	}
}

// freeNames frees what a replica that is forgotten has taken.
func (s *Site) freeNames(w *wakeUp, by engine.DocumentID) {
	for name, t := range s.names {
		if t.by == by {
			delete(s.names, name)
			for _, id := range t.waiting {
				w.wakeLater(id, &replica.News{Hurry: true})
			}
		}
	}
}

// rivals are the claims of the other resources of a name, those that are past everywhere left out.
func (w *wakeUp) rivals(k *engine.Kind, key engine.ResourceID, but engine.DocumentID) []view.Claim {
	s, seen := w.s, map[engine.DocumentID]bool{but: true}
	var ids []engine.DocumentID
	for id := range s.residents.names[nameOf{kindOf{k.Service, k.Name}, key}] {
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	if known := s.kinds.known(k.Service, k.Name); known != nil && known.replicated.Load() {
		rows, _, err := s.cfg.Store.Resources(w.ctx, engine.ResourceFilter{ID: key, Service: k.Service, Kind: k.Name})
		if err != nil {
			s.note(but, "find other resources of its name", err)
		}
		for _, row := range rows {
			if !seen[row.Document] && row.Collaboration != engine.ExactlyOne {
				seen[row.Document] = true
				ids = append(ids, row.Document)
			}
		}
	}
	slices.Sort(ids)
	var claims []view.Claim
	for _, id := range ids {
		r, err := s.reach(w.ctx, id, nil)
		if err == nil && !r.IsChoice() {
			claims = append(claims, r.MyClaim())
		}
	}
	return claims
}
