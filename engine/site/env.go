package site

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/names"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/report"
	"github.com/skerry/skerry/engine/view"
)

// env is what one replica asks of its surroundings while it is stepped.
type env struct {
	w *wakeUp
	r *resident
}

func (w *wakeUp) env(r *resident) replica.Env {
	w.at = env{w, r}
	return &w.at
}

func (e env) Now() time.Time { return e.w.now }
func (e env) NewID() string  { return e.w.s.cfg.NewID() }

func (e env) FirstTip(about engine.About, epoch uint64) engine.Tip {
	return e.w.s.cfg.Documents.First(about, e.r.id, epoch)
}

func (e env) Admits(k *engine.Kind, o *engine.Operation) bool {
	return names.Admits(e.w.s.cfg.Catalog, k, o)
}

func (e env) Note(id engine.DocumentID, message string, err error) { e.w.s.note(id, message, err) }

// note logs something about a resource that an operator may want to know.
func (s *Site) note(id engine.DocumentID, message string, err error) {
	level := slog.LevelWarn
	if err == nil || errors.Is(err, engine.ErrUnknown) {
		level = slog.LevelInfo
	}
	s.cfg.Log.Log(s.calls.ctx, level, message, "document", string(id), "err", err)
}

func (e env) Here(k *engine.Kind, id string) engine.LocalID { return e.w.s.Here(e.w.ctx, k, id) }

func (e env) Addressed(k *engine.Kind, target, within string) engine.LocalID {
	return e.w.s.Addressed(e.w.ctx, k, target, within)
}

func (e env) Container(k *engine.Kind, id engine.LocalID) (shared, without bool) {
	container, _ := k.Split(string(id))
	c := e.w.s.Kind(k.Service, k.Within)
	if c == nil {
		return false, false
	}
	row, err := e.w.s.Known(e.w.ctx, c, c.FromContainer(container))
	without = err == nil && row.State == engine.StateConverged && row.GoneAt(e.w.s.cfg.Self)
	return err == nil && !row.State.Past() && !row.GoneAt(e.w.s.cfg.Self), without
}

func (e env) Contained(k *engine.Kind) []*engine.Kind { return e.w.s.Contained(k) }

func (e env) Meta(k *engine.Kind, local engine.LocalID) engine.ResourceID {
	meta, _ := e.w.s.Meta(e.w.ctx, k.Service, k.Name, local)
	return meta
}

func (e env) Whereabouts(k *engine.Kind, within string, o *engine.Operation, bound map[engine.ServiceName][]engine.SiteID) []engine.Whereabouts {
	return e.w.s.beside.Whereabouts(e.w.ctx, k, within, o, bound)
}

func (e env) Awaits(k *engine.Kind, key engine.ResourceID, o *engine.Operation) string {
	return e.w.s.beside.Awaits(e.w.ctx, k, key, o)
}

func (e env) Admit(k *engine.Kind, id engine.DocumentID, of engine.SiteID) bool {
	v := e.w.s.serviceOf(k.Service)
	if e.r.admitted = !e.w.s.ends && v.Admit(id, of, e.w.now); e.r.admitted {
		return true
	}
	if at := v.Wake(); !at.IsZero() {
		e.w.s.inbox.wakeAt(ticks, at)
	}
	return false
}

func (e env) Report(k *engine.Kind, id engine.DocumentID, r engine.Reply, err error, changes bool) bool {
	alone := e.w.report(k, id, r, err, changes)
	e.r.admitted = false
	return alone
}

func (e env) Waits(k *engine.Kind, id engine.DocumentID, of engine.SiteID) bool {
	v := e.w.s.serviceOf(k.Service)
	if v.Status().State == engine.QueueRunning {
		return false
	}
	if e.Admit(k, id, of) {
		e.w.leave(e.r)
		return false
	}
	return true
}

func (e env) Halted(k *engine.Kind) *engine.Wait { return e.w.halted(k) }

func (e env) Reads(k *engine.Kind) bool { return e.w.s.serviceOf(k.Service).Readable(e.w.now) }

func (e env) Looked(k *engine.Kind, id engine.DocumentID, there bool) {
	e.w.s.serviceOf(k.Service).Vanishing.Looked(id, there, e.w.now)
}

func (e env) Remake(k *engine.Kind, id engine.DocumentID, ends bool) string {
	v := &e.w.s.serviceOf(k.Service).Vanishing
	if ends {
		return v.Blind(k.Service, e.w.now)
	}
	return v.Remake(id, k.Service, e.w.now)
}

func (e env) Respite(r engine.Reply) time.Duration { return e.w.respite(r) }

func (e env) Sends(id engine.DocumentID) bool { return e.w.s.calls.sends(id) }

func (e env) Backoff(tries int) time.Duration { return e.w.s.Backoff(tries) }

func (e env) Mismatch(k *engine.Kind, sites []engine.SiteID) string {
	return e.w.s.cfg.Members.Mismatch(k.Service, k.Name, sites)
}

func (e env) Reachable(id engine.SiteID) bool { return e.w.reaches(id) }

func (e env) Nearest(ids []engine.SiteID) []engine.SiteID { return e.w.nearest(ids) }

func (e env) Met(sites []engine.SiteID) bool { return e.w.s.met.with(sites, e.w.now) }

func (e env) HasBlob(ref engine.BlobRef) bool { return e.w.s.cfg.Blobs.Has(ref) }

func (e env) Rivals(*engine.Kind, engine.ResourceID, engine.DocumentID) []view.Claim {
	return e.w.rivals(e.r)
}

func (e env) TakeName(k *engine.Kind, key engine.ResourceID, by engine.DocumentID) bool {
	return e.w.takeName(nameOf{k.Service, k.Name, key}, by)
}

func (e env) FreeName(k *engine.Kind, key engine.ResourceID, by engine.DocumentID) {
	e.w.freeName(nameOf{k.Service, k.Name, key}, by)
}

func (e env) Making(k *engine.Kind) bool { return making(e.w.s, k, e.r) }

func (e env) Claimed(id engine.DocumentID) bool { return e.w.s.claimed[id] }

func (e env) Claim(id engine.DocumentID, asks bool) {
	if delete(e.w.s.claimed, id); asks {
		e.w.s.claimed[id] = true
	}
}

func (e env) LetDelete(o *engine.Operation) bool {
	s := e.w.s
	return s.deletions.Admit(o.ID, s.resources(e.w.ctx), e.w.now)
}

func (e env) HoldDelete(id engine.DocumentID) {
	s := e.w.s
	if !s.deletions.Hold(id) {
		return
	}
	self := s.cfg.Members.Name(s.cfg.Self)
	e.w.batch.Events = append(e.w.batch.Events, report.Event("site.held", string(self), e.w.now, map[string]any{"site": self}))
}

func (e env) ReleaseDelete(id engine.DocumentID) { e.w.s.deletions.Release(id) }

func (e env) HearDelete(o *engine.Operation) {
	e.w.s.deletions.Heard(o.ID, e.w.s.cfg.Clock().Sub(engine.Time(o.Time)), e.w.now)
}

func (e env) Clock() time.Time { return e.w.s.cfg.Clock() }

func (e env) Ahead() time.Duration { return e.w.s.cfg.Limits.ClockSkew }

// outlook is what is known of the ways to other sites. It is looked up once a wake-up: that takes time for each of them.
type outlook struct {
	site   *Site
	status map[engine.SiteID]engine.SiteStatus // nil: nobody has asked for it
}

func (o *outlook) ways() map[engine.SiteID]engine.SiteStatus {
	if o.status == nil {
		o.status = o.site.network.Status()
	}
	return o.status
}

// reaches reports whether another site can be reached.
func (o *outlook) reaches(id engine.SiteID) bool { return o.ways()[id].Reachable }

// nearest orders sites by their distance from this one; what is not known comes last.
func (w *wakeUp) nearest(ids []engine.SiteID) []engine.SiteID {
	if len(ids) < 2 {
		return ids
	}
	const far = time.Hour
	status, distance := w.ways(), w.s.cfg.Members.Distances()
	rtt := map[engine.SiteID]time.Duration{}
	for _, id := range ids {
		d, ok := distance(w.s.cfg.Self, id)
		switch st := status[id]; {
		case st.RTT > 0:
			d = st.RTT
		case !ok:
			d = far
		}
		rtt[id] = d
	}
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b engine.SiteID) int { return cmp.Or(cmp.Compare(rtt[a], rtt[b]), cmp.Compare(a, b)) })
	return ids
}

// resources counts the resources of this site.
func (s *Site) resources(ctx context.Context) int {
	counts, err := s.cfg.Store.CountResources(ctx)
	if err != nil {
		s.cfg.Log.Error("count the resources", "err", err)
	}
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}
