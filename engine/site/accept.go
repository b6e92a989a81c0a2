package site

import (
	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// Accepts implements replica.Env.
func (e env) Accepts(v *view.View) view.Rules {
	if a := e.w.s.cfg.Accept; a != nil && v.History.AnyWriter(a.Restricts) {
		return func(from engine.SiteID, act engine.Act) engine.Acceptance {
			return a.Accepts(engine.Wish{From: from, Service: v.Kind.Service, Kind: v.Kind.Name, Act: act, Scope: v.Placement().Collaboration(v.About.Collaboration)})
		}
	}
	return nil
}

// judgeAnew has what is not accepted here judged again, after the mesh has other members, names or zones.
func judgeAnew(s *Site) {
	s.inbox.put(item{job: func(w *wakeUp) {
		held := engine.ConflictFilter{Kind: engine.ConflictNotAccepted, Site: s.cfg.Self, Limit: 1000}
		for more := true; more; more = held.Cursor != "" {
			list, next, err := s.cfg.Store.Conflicts(w.ctx, held)
			if err != nil {
				s.cfg.Log.Error("list what is not accepted", "err", err)
				return
			}
			for _, c := range list {
				w.wakeLater(c.Document, &replica.News{Hurry: true})
			}
			held.Cursor = next
		}
	}})
}
