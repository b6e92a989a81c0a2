package history

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/testnet/world"
)

// cutOrHeal cuts a link, both ways or one, or all of a site; or heals what is cut.
func (w *play) cutOrHeal() {
	if !w.knobs.cuts {
		return
	}
	w.did = true
	a, b := w.anySite(), w.anySite()
	cut := w.chance(2)
	switch w.rng.IntN(4) {
	case 0:
		w.link(a, b, cut)
	case 1, 2:
		for _, other := range w.sites {
			w.link(a, other, cut)
			w.link(other, a, cut)
		}
	default:
		w.link(a, b, cut)
		w.link(b, a, cut)
	}
}

// link cuts or heals one way of a link.
func (w *play) link(from, to *site, cut bool) { w.Link(from.Site, to.Site, cut) }

// disturb makes a site's agent or application misbehave.
func (w *play) disturb() {
	s := w.anySite()
	if w.knobs.moves && w.chance(2) {
		w.move()
		return
	}
	switch kind := w.rng.IntN(9); {
	case kind < 2 && w.knobs.deaths:
		if s.Proc != nil {
			s.Proc.Die()
		}
	case kind < 4 && w.knobs.deaths:
		if s.Proc != nil {
			s.Proc.Doom(1 + w.rng.IntN(8))
		}
	case kind < 7 && w.knobs.moods:
		s.App.Mood = w.anyMood()
	case kind == 7 && w.knobs.full:
		s.Full = true
	case kind == 8 && w.knobs.pauses:
		w.pause(s)
		return
	default:
		return
	}
	w.did = true
}

func (w *play) anyMood() world.Mood {
	often := []int{100, 300, 1000}[w.rng.IntN(3)]
	var m world.Mood
	switch w.rng.IntN(10) {
	case 0:
		m.Down = true
	case 1:
		m.Refuses = often
	case 2:
		m.Busy = often
	case 3:
		m.Fails = often
	case 4:
		m.DoesSilent = often
	case 5:
		m.Breaks, m.DoesBreak = often/2, often/2
	case 6:
		m.Denies = often
	case 7:
		m.Fails, m.DoesSilent, m.Refuses = often/3, often/3, often/3
	case 8:
		m.Hides = often
	default:
		if w.knobs.rejects {
			m.No, m.What = often, []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusBadRequest}[w.rng.IntN(3)]
		} else {
			m.Lingers = often
		}
	}
	return m
}

// move adds a site to the placement of a resource or removes one from it, where an operator asks for that.
func (w *play) move() {
	res := w.resources[w.rng.IntN(len(w.resources))]
	at, other := res.placement[w.rng.IntN(len(res.placement))], w.anySite()
	p := at.Proc
	// What a site that is removed keeps is in the way of the replica that it gets when it is added again, and of what is created
	// under the same name.
	if p == nil || res.id == "" || res.kind.Natural() || w.holdsReplicas(res) || slices.Contains(res.removed, other) {
		return
	}
	row, err := p.Site.Lookup(w.Ctx, res.kind, res.id)
	if err != nil {
		return
	}
	q, placement := engine.PlaceRequest{Add: []engine.SiteID{other.ID}, Forced: true}, append(slices.Clone(res.placement), other)
	if i := slices.Index(res.placement, other); i >= 0 {
		if len(res.placement) < 3 {
			return
		}
		q, placement = engine.PlaceRequest{Remove: []engine.SiteID{other.ID}}, slices.Delete(slices.Clone(res.placement), i, i+1)
	}
	w.did, res.moved = true, true
	if len(q.Remove) > 0 { // also where the agent dies before it says so
		res.removed = append(res.removed, other)
	}
	w.Do(p, func() {
		id, err := p.Desk.Place(w.Ctx, row.Document, q)
		w.log.Info("place", "at", at.Site, "resource", res.tag, "add", fmt.Sprint(q.Add), "remove", fmt.Sprint(q.Remove), "operation", string(id), "err", err)
		var refusal *engine.Refusal
		if err == nil && id != "" {
			res.placement = placement
		} else if !errors.As(err, &refusal) {
			w.expect(at, p, err, "place", engine.ErrNotFound)
		}
	})
}

// divide divides a resource over the sites where it lives, or makes it a replicated one, as a site knows them.
func (w *play) divide() {
	res := w.resources[w.rng.IntN(len(w.resources))]
	at := res.placement[w.rng.IntN(len(res.placement))]
	p := at.Proc
	if p == nil || res.id == "" {
		return
	}
	row, err := p.Site.Lookup(w.Ctx, res.kind, res.id)
	if err != nil {
		return
	}
	var parts engine.Parts
	whole := w.chance(3)
	for _, i := range w.rng.Perm(len(w.sites)) {
		st, there := row.Sites[w.sites[i].ID]
		switch {
		case !there || st.State == engine.StateLeaving:
		case len(parts) > 0 && (whole || w.chance(4)):
			parts[0] = append(parts[0], w.sites[i].ID)
		default:
			parts = append(parts, []engine.SiteID{w.sites[i].ID})
		}
	}
	if len(parts) == 0 {
		return
	}
	w.did = true
	for _, other := range w.sites { // one that is being added, of which nothing is known here, is taken out again
		if res.moved && merge.PartOf(parts, other.ID) < 0 {
			res.removed = append(res.removed, other)
		}
	}
	w.Do(p, func() {
		id, err := p.Desk.Place(w.Ctx, row.Document, engine.PlaceRequest{Parts: parts})
		w.log.Info("divide", "at", at.Site, "resource", res.tag, "parts", fmt.Sprint(parts), "operation", string(id), "err", err)
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) {
			w.expect(at, p, err, "divide", engine.ErrNotFound)
		}
	})
}

// pause lets a site leave one of its replicas as it is.
func (w *play) pause(s *site) {
	rows := w.rows(s)
	if s.Proc == nil || len(rows) == 0 {
		return
	}
	row, p := rows[w.rng.IntN(len(rows))], s.Proc
	if row.Sites[s.ID].State == engine.StateLeaving {
		return
	}
	w.did = true
	by := w.anySite().ID
	w.Do(p, func() {
		err := p.Desk.Pause(w.Ctx, row.Document, by, "they look into it")
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) { // it may have left meanwhile
			w.expect(s, p, err, "pause", engine.ErrNotFound)
		}
	})
}

// resume ends what an operator has ordered at a site.
func (w *play) resume(s *site) {
	p := s.Proc
	if p == nil {
		return
	}
	for _, row := range w.rows(s) {
		if row.Sites[s.ID].Paused != nil {
			w.did = true
			w.Do(p, func() { w.expect(s, p, p.Desk.Resume(w.Ctx, row.Document), "resume") })
		}
	}
	if held, _ := p.Site.Held(); w.knobs.holds && len(held) > 0 {
		w.Do(p, func() {
			_, err := p.Desk.Confirm(w.Ctx, engine.Decider{Site: s.ID}, nil)
			w.expect(s, p, err, "confirm")
		})
	}
}

// calm ends what ails a site.
func (w *play) calm() {
	s := w.anySite()
	s.App.Mood, s.Full = world.Mood{}, false
	w.resume(s)
	if s.Proc == nil {
		w.did = true
		w.start(s)
	}
}

// start starts the agent of a site.
func (w *play) start(s *site) {
	if err := s.Start(); err != nil && !s.Full {
		w.Problem("%v", err)
	}
}
