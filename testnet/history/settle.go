package history

import (
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
)

// rounds is how often, after everything is healed, all sites do what is due and hear of each other before all has to be as it
// must be. Time passes in between, patience at least: what waits for a container that no site has takes ten minutes.
const (
	rounds   = 150
	patience = 20 * time.Minute
)

// settle heals everything, lets operators decide and sites work until all is as it must be, and notes what is not.
func (w *play) settle() {
	w.Loss, w.Latency = 0, 0
	w.Heal()
	began := w.Now
	for round := 0; round < rounds || w.Now.Sub(began) < patience; round++ {
		if w.settling = round > 0; len(w.Problems) > 0 {
			return
		}
		for _, s := range w.sites {
			s.App.Mood, s.Full = world.Mood{}, false
			if s.Proc == nil {
				w.start(s)
			}
			s.Proc.Doom(0)
		}
		w.DeliverAll()
		w.Reconcile()
		for _, s := range w.sites {
			w.resume(s)
			w.operate(s)
			s.WorkOff()
		}
		if w.unsettled() {
			w.Pass(time.Minute)
			continue
		}
		if found := w.check(); len(found) == 0 {
			return
		}
		if w.Pass(time.Minute); round%10 == 9 { // what nobody has told of is seen by the slow look
			w.Now = w.Now.Add(time.Hour)
		}
	}
	w.Problems = append(w.Problems, w.check()...)
}

// unsettled tells quickly whether something is still under way.
func (w *play) unsettled() bool {
	if due, ok := w.Due(); ok && !due.After(w.Now) || w.Letters() > 0 {
		return true
	}
	return slices.ContainsFunc(w.sites, w.waits) || slices.ContainsFunc(w.requests, func(q *request) bool { return !q.over() })
}

// waits reports whether a site has something left to do, later.
func (w *play) waits(s *site) bool {
	if s.Proc == nil {
		return true
	}
	errands, _ := s.Disk.Errands(w.Ctx)
	kept, _ := s.Disk.Outbox(w.Ctx)
	pending, _ := s.Disk.Pending(w.Ctx)
	return len(errands)+len(kept)+len(pending) > 0
}

// rows lists all resources of a site, deleted ones included.
func (w *play) rows(s *site) []engine.ResourceRow {
	living, _, err := s.Disk.Resources(w.Ctx, engine.ResourceFilter{Limit: 1000})
	if err != nil {
		w.Problem("%s: %v", s.Name, err)
	}
	deleted, _, err := s.Disk.Resources(w.Ctx, engine.ResourceFilter{State: engine.StateDeleted, Limit: 1000})
	if err != nil {
		w.Problem("%s: %v", s.Name, err)
	}
	return append(living, deleted...)
}
