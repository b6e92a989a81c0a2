package site

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/service"
)

// ticks stands among the documents that are woken for the services, some of which may try again by then.
const ticks engine.DocumentID = "ticks"

// pacing paces the requests to each service of this site's application. What it has belongs to the loop.
type pacing struct {
	site     *Site
	services map[engine.ServiceName]*service.Service
}

// serviceOf returns the pacing of a service.
func (p *pacing) serviceOf(name engine.ServiceName) *service.Service {
	v := p.services[name]
	if v == nil {
		v = service.New(service.Limits{Probes: p.site.cfg.Limits.backoff(), Most: p.site.cfg.Limits.Workers})
		p.services[name] = v
	}
	return v
}

// turn does what has come of a call to a service.
func (w *wakeUp) turn(name engine.ServiceName, t service.Turn) {
	for _, id := range t.Go { // whatever becomes of this wake-up: they have their places
		w.s.inbox.put(item{job: func(w *wakeUp) { w.goes(name, id) }})
	}
	v := w.s.serviceOf(name)
	if at := v.Wake(); !at.IsZero() {
		w.s.inbox.wakeAt(ticks, at)
	}
	if t.Changed {
		w.queueChanged(name, v.Status())
	}
}

// goes has a resource do what it has waited at a service for. Where that is over it gives its place back, or nobody else would get it.
func (w *wakeUp) goes(name engine.ServiceName, id engine.DocumentID) {
	if r, err := w.s.reach(w.ctx, id, nil); err == nil {
		r.admitted = true
	}
	if err := w.step(id, nil, &replica.News{Hurry: true}); err != nil {
		w.turn(name, w.s.serviceOf(name).Abandon(id, w.now))
	}
}

// queueChanged tells that a service lets requests go out, or not any more.
func (w *wakeUp) queueChanged(name engine.ServiceName, st engine.QueueStatus) {
	s, self := w.s, w.s.cfg.Members.Name(w.s.cfg.Self)
	w.batch.Events = append(w.batch.Events, report.Event("queue."+string(st.State), string(self)+"/"+string(name), w.now,
		map[string]any{"site": self, "service": name, "state": st.State, "reason": st.Reason}))
	told := map[engine.ServiceName]engine.QueueStatus{}
	for name, v := range s.services {
		if st := v.Status(); st.State == engine.QueuePaused {
			told[name] = engine.QueueStatus{State: st.State, Since: st.Since, Reason: st.Reason}
		}
	}
	ctx := w.ctx
	w.then(func() {
		if err := s.cfg.Members.SetQueues(ctx, told); err != nil {
			s.cfg.Log.Error("tell which services do not let the agent in", "err", err)
		}
	})
}

// tick lets go out what may by now.
func (w *wakeUp) tick() {
	for _, name := range slices.Sorted(maps.Keys(w.s.services)) {
		w.turn(name, w.s.services[name].Tick(w.now))
	}
}

// leave gives a place at a service back.
func (w *wakeUp) leave(r *resident) {
	r.admitted = false
	w.turn(r.Kind.Service, w.s.serviceOf(r.Kind.Service).Abandon(r.id, w.now))
}

// report takes in what an answer tells of a service.
func (w *wakeUp) report(k *engine.Kind, id engine.DocumentID, r engine.Reply, err error, changes bool) (alone bool) {
	answer := service.Hear(r, err, changes, plan.Tell(r, err), w.now)
	t := w.s.serviceOf(k.Service).Report(id, answer, w.now, w.s.cfg.Random())
	w.turn(k.Service, t)
	return t.Alone
}

// halted is why requests to a service do not go out now; nil: they do.
func (w *wakeUp) halted(k *engine.Kind) *engine.Wait {
	st := w.s.serviceOf(k.Service).Status()
	switch st.State {
	case engine.QueuePaused:
		return &engine.Wait{Kind: engine.WaitDenied, Since: st.Since.UnixMicro(), Reason: "the application does not let the agent in: " + st.Reason}
	case engine.QueueFailing:
		return &engine.Wait{Since: st.Since.UnixMicro(), Reason: fmt.Sprintf("the application's service %s fails: %s", k.Service, st.Reason)}
	}
	return nil
}

// Served takes in what an answer to a request that is no resource's tells of its service.
func (p *pacing) Served(k *engine.Kind, r engine.Reply, err error) {
	if answer := service.Hear(r, err, true, "", p.site.cfg.Now()); answer.Health != service.Works {
		return
	}
	p.site.inbox.put(item{job: func(w *wakeUp) { w.turn(k.Service, w.s.serviceOf(k.Service).Succeeded(w.now)) }})
}

// Queues tells how requests to each service of this site's application get on.
func (p *pacing) Queues() map[engine.ServiceName]engine.QueueStatus {
	p.site.mu.Lock()
	defer p.site.mu.Unlock()
	all, now := map[engine.ServiceName]engine.QueueStatus{}, p.site.cfg.Now()
	for name, v := range p.services {
		all[name] = v.Told(now)
	}
	return all
}

// ResumeQueue tries a service again at once, or all when service is empty. ErrNotFound: there is no such service.
func (p *pacing) ResumeQueue(name engine.ServiceName) error {
	p.site.mu.Lock()
	_, known := p.services[name]
	p.site.mu.Unlock()
	if name != "" && !known {
		return fmt.Errorf("resume the queue of %s: %w", name, engine.ErrNotFound)
	}
	p.site.inbox.put(item{job: func(w *wakeUp) {
		for _, each := range slices.Sorted(maps.Keys(w.s.services)) {
			if name == "" || each == name {
				t, retry := w.s.services[each].Hurry(w.now)
				w.turn(each, t)
				for _, id := range retry {
					w.wakeLater(id, &replica.News{Hurry: true})
				}
			}
		}
	}})
	return nil
}

// respite is how long the application wants a resource to be left alone, by an answer.
func (w *wakeUp) respite(r engine.Reply) time.Duration {
	a := service.Hear(r, nil, false, "", w.now)
	if a.Health == service.Denied || a.Health == service.Forbidden {
		return w.s.cfg.Limits.RetryMax
	}
	return a.Rest
}
