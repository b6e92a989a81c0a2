package site

import (
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// Accepts implements replica.Env.
func (e env) Accepts(k *engine.Kind, c engine.Collaboration) view.Refuses {
	if a := e.w.s.cfg.Accept; a != nil && a.Restricts() {
		return func(from engine.SiteID, act engine.Act) string { return refusal(a, from, k.Service, k.Name, act, c) }
	}
	return nil
}

// refusal says why this site does not accept something; empty: it does.
func refusal(a Accept, from engine.SiteID, service engine.ServiceName, kind engine.KindName, act engine.Act, c engine.Collaboration) string {
	if v := a.Accepts(engine.Wish{From: from, Service: service, Kind: kind, Act: act, Scope: c}); !v.Accepted {
		return v.Reason
	}
	return ""
}

// acceptsCheckpoint reports, as an error, that who has sent a checkpoint may not have this site make a resource: what a checkpoint holds
// nobody but its sender has signed.
func acceptsCheckpoint(s *Site, from engine.SiteID, id engine.DocumentID, of engine.About) error {
	if s.cfg.Accept == nil || !s.cfg.Accept.Restricts() {
		return nil
	}
	if why := refusal(s.cfg.Accept, from, of.Service, of.Kind, engine.ActCreate, of.Collaboration); why != "" {
		return fmt.Errorf("document %s: a checkpoint: %w: %s", id, engine.ErrUnknown, why)
	}
	return nil
}

// judgeAnew has what is not accepted here judged again, after the mesh has other names or zones.
func judgeAnew(s *Site) {
	if s.cfg.Accept == nil || !s.cfg.Accept.Restricts() {
		return
	}
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
