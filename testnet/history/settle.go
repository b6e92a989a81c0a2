package history

import (
	"slices"
	"time"
)

// rounds is how often, after everything is healed, all sites do what is due and hear of each other before all has to be as it
// must be. Time passes in between.
const rounds = 150

// settle heals everything, lets operators decide and sites work until all is as it must be, and notes what is not.
func (w *world) settle() {
	w.depth = 9 // nothing else happens while a call is under way
	for i := range w.cut {
		clear(w.cut[i])
	}
	w.knobs.loss, w.knobs.again = 0, 0
	for round := range rounds {
		if w.settling = round > 0; len(w.problems) > 0 {
			return
		}
		for _, s := range w.sites {
			s.app.mood, s.full = mood{}, false
			if s.now == nil {
				s.start()
			}
			s.now.doom = 0
		}
		for len(w.wire) > 0 {
			w.deliver()
		}
		w.reconcile()
		for _, s := range w.sites {
			w.resume(s)
			w.operate(s)
			s.workOff()
		}
		if w.unsettled() {
			w.pass()
			continue
		}
		if found := w.check(); len(found) == 0 {
			return
		}
		if w.pass(); w.knobs.backups && !w.knobs.machines && round%10 == 9 { // what only lost operations have set is seen by the slow look
			w.now = w.now.Add(time.Hour)
		}
	}
	w.problems = append(w.problems, w.check()...)
}

// workOff does all jobs that are due at a site.
func (s *site) workOff() {
	for p, left := s.now, 1000; p != nil && !p.dead; left-- {
		more := false
		p.enter(func() { more = p.Step(s.w.ctx) })
		if !more {
			return
		}
		if left == 0 {
			s.w.problem("%s does one job after the other and never ends", s.name)
			return
		}
	}
}

// pass lets time pass until somebody has something to do.
func (w *world) pass() {
	next := w.now.Add(time.Minute)
	for _, s := range w.sites {
		if s.now == nil {
			return
		}
		if due, ok := s.now.Due(); ok && due.Add(-s.skew).Before(next) {
			next = due.Add(-s.skew)
		}
	}
	if next.After(w.now) {
		w.now = next
	}
}

// unsettled tells quickly whether something is still under way.
func (w *world) unsettled() bool {
	for _, s := range w.sites {
		if s.now == nil {
			return true
		}
		if due, ok := s.now.Due(); ok && !due.After(s.clock()) {
			return true
		}
	}
	return len(w.wire) > 0 || slices.ContainsFunc(w.sites, (*site).waits)
}

// waits reports whether a site has something left to do, later.
func (s *site) waits() bool {
	intents, _ := s.disk.Intents(s.w.ctx)
	kept, _ := s.disk.Outbox(s.w.ctx)
	pending, _ := s.disk.Pending(s.w.ctx)
	return len(intents)+len(kept)+len(pending) > 0
}
