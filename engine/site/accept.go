package site

import (
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// Accepts implements replica.Env.
func (e env) Accepts(k *engine.Kind, c engine.Collaboration) view.Rules {
	if a := e.w.s.cfg.Accept; a != nil && a.Restricts() {
		return func(from engine.SiteID, act engine.Act) engine.Acceptance {
			return a.Accepts(engine.Wish{From: from, Service: k.Service, Kind: k.Name, Act: act, Scope: c})
		}
	}
	return nil
}

// acceptsCheckpoint reports, as an error, that who has sent a checkpoint may not have this site make a resource, or may in the name of those
// who have asked only: what a checkpoint holds nobody but its sender has signed.
func acceptsCheckpoint(s *Site, from engine.SiteID, id engine.DocumentID, of engine.About) error {
	if s.cfg.Accept == nil || !s.cfg.Accept.Restricts() {
		return nil
	}
	v := s.cfg.Accept.Accepts(engine.Wish{From: from, Service: of.Service, Kind: of.Kind, Act: engine.ActCreate, Scope: of.Collaboration})
	if v.Accepted && v.As != engine.AsUser {
		return nil
	}
	if v.Accepted {
		v.Reason = "it does not prove who has asked for what: " + v.Reason
	}
	return fmt.Errorf("document %s: a checkpoint: %w: %s", id, engine.ErrUnknown, v.Reason)
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
