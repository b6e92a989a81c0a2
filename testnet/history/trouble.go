package history

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

func isA(err, target error) bool { return errors.Is(err, target) }

// cutOrHeal cuts a link, both ways or one, or all of a site; or heals what is cut.
func (w *world) cutOrHeal() {
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

// link cuts or heals one way of a link; both ends notice.
func (w *world) link(from, to *site, cut bool) {
	if from == to || w.cut[from.n][to.n] == cut {
		return
	}
	w.cut[from.n][to.n] = cut
	for _, end := range [][2]*site{{from, to}, {to, from}} {
		if p := end[0].now; p != nil {
			p.enter(func() { p.SiteChanged(w.ctx, end[1].id, !cut) })
		}
	}
}

// disturb makes a site's agent or application misbehave.
func (w *world) disturb() {
	s := w.anySite()
	if w.knobs.moves && w.chance(2) {
		w.move()
		return
	}
	switch kind := w.rng.IntN(9); {
	case kind < 2 && w.knobs.deaths:
		if s.now != nil {
			s.now.die()
		}
	case kind < 4 && w.knobs.deaths:
		if s.now != nil {
			s.now.doom = 1 + w.rng.IntN(8)
		}
	case kind < 7 && w.knobs.moods:
		s.app.mood = w.anyMood()
	case kind == 7 && w.knobs.full:
		s.full = true
	case kind == 8 && w.knobs.pauses:
		w.pause(s)
		return
	default:
		return
	}
	w.did = true
}

func (w *world) anyMood() mood {
	often := []int{100, 300, 1000}[w.rng.IntN(3)]
	var m mood
	switch w.rng.IntN(9) {
	case 0:
		m.down = true
	case 1:
		m.refuses = often
	case 2:
		m.busy = often
	case 3:
		m.fails = often
	case 4:
		m.doesSilent = often
	case 5:
		m.breaks, m.doesBreak = often/2, often/2
	case 6:
		m.denies = often
	case 7:
		m.fails, m.doesSilent, m.refuses = often/3, often/3, often/3
	default:
		if w.knobs.rejects {
			m.no, m.what = often, []int{http.StatusConflict, http.StatusUnprocessableEntity, http.StatusBadRequest}[w.rng.IntN(3)]
		}
	}
	return m
}

// move adds a site to the placement of a resource or removes one from it, where an operator asks for that.
func (w *world) move() {
	res := w.resources[w.rng.IntN(len(w.resources))]
	at, other := res.placement[w.rng.IntN(len(res.placement))], w.anySite()
	p := at.now
	// What a site that is removed keeps is in the way of the replica that it gets when it is added again, and of what is created
	// under the same name.
	if p == nil || p.deep > 0 || res.id == "" || res.kind.Natural() || w.holdsReplicas(res) || slices.Contains(res.removed, other) {
		return
	}
	row, err := p.Lookup(w.ctx, res.kind, res.id)
	if err != nil {
		return
	}
	q, placement := engine.PlaceRequest{Add: []engine.SiteID{other.id}, Forced: true}, append(slices.Clone(res.placement), other)
	if i := slices.Index(res.placement, other); i >= 0 {
		if len(res.placement) < 3 {
			return
		}
		q, placement = engine.PlaceRequest{Remove: []engine.SiteID{other.id}}, slices.Delete(slices.Clone(res.placement), i, i+1)
	}
	w.did, res.moved = true, true
	if len(q.Remove) > 0 { // also where the agent dies before it says so
		res.removed = append(res.removed, other)
	}
	p.enter(func() {
		id, err := p.Place(w.ctx, row.Document, q)
		w.tells("place", "at", at, "resource", res.tag, "add", q.Add, "remove", q.Remove, "operation", id, "err", err)
		var refusal *engine.Refusal
		if err == nil && id != "" {
			res.placement = placement
		} else if !errors.As(err, &refusal) {
			at.expect(err, "place", engine.ErrNotFound)
		}
	})
}

// pause lets a site leave one of its replicas as it is.
func (w *world) pause(s *site) {
	rows := s.rows()
	if s.now == nil || len(rows) == 0 {
		return
	}
	row, p := rows[w.rng.IntN(len(rows))], s.now
	if row.Sites[s.id].State == engine.StateLeaving {
		return
	}
	w.did = true
	p.enter(func() { s.expect(p.Pause(w.ctx, row.Document, w.anySite().id, "they look into it"), "pause") })
}

// resume ends what an operator has ordered at a site.
func (w *world) resume(s *site) {
	p := s.now
	if p == nil || p.deep > 0 {
		return
	}
	for _, row := range s.rows() {
		if row.Sites[s.id].Paused != nil && !p.dead {
			w.did = true
			p.enter(func() { s.expect(p.Resume(w.ctx, row.Document), "resume") })
		}
	}
	if w.knobs.holds && !p.dead {
		p.enter(func() {
			_, err := p.Confirm(w.ctx, s.id)
			s.expect(err, "confirm")
		})
	}
}

// calm ends what ails a site.
func (w *world) calm() {
	s := w.anySite()
	s.app.mood, s.full = mood{}, false
	w.resume(s)
	if s.now == nil {
		w.did = true
		s.start()
	}
}

// operate lets an operator decide about what waits for a person at a site, as a truthful one does who looks into the
// application.
func (w *world) operate(s *site) {
	p := s.now
	if p == nil || p.deep > 0 {
		return
	}
	for _, state := range []engine.State{engine.StateUncertain, engine.StateRejected} {
		rows, _, err := s.disk.Operations(w.ctx, engine.OperationFilter{State: state, Site: s.id, Limit: 1000})
		if err != nil {
			w.problem("list operations at %s: %v", s.name, err)
		}
		for _, row := range rows {
			if p.dead {
				return
			}
			p.enter(func() { w.decide(s, p, row) })
		}
	}
	if !p.dead {
		p.enter(func() { w.findOut(s, p) })
	}
	if w.knobs.backups && !p.dead {
		w.keep(s, p)
	}
	if w.knobs.drops && !p.dead {
		w.dropNames(s, p)
	}
	if w.knobs.contains && !p.dead {
		w.letBe(s, p)
	}
}

// findOut looks for what has become of requests that another site was asked for so long ago that it does not know.
func (w *world) findOut(s *site, p *process) {
	for _, row := range s.operations(engine.OperationFilter{State: engine.StateUncertain}) {
		if _, here := row.Sites[s.id]; here || row.Document != "" {
			continue
		}
		settle, ran := p.Drop, slices.ContainsFunc(w.sites, func(at *site) bool { return at.app.effect(row.ID, at.name) != nil })
		if ran {
			settle = p.Done
			w.saidDone[row.ID] = true
		}
		w.did = true
		w.tells("find out", "site", s, "operation", row.ID, "ran", ran)
		s.expect(settle(w.ctx, row.ID), "find out "+string(row.ID))
	}
}

// keep lets an operator have all sites show what this one shows of a resource, where they differ because one was set back: what shows
// all that was done, as far as anybody can tell.
func (w *world) keep(s *site, p *process) {
	list, _, err := s.disk.Conflicts(w.ctx, engine.ConflictFilter{})
	if err != nil {
		w.problem("list conflicts at %s: %v", s.name, err)
	}
	for _, c := range list {
		if p.dead {
			return
		}
		if !c.Open() || !slices.Contains(c.Actions, engine.ActionKeep) || slices.Contains(c.Actions, engine.ActionRetry) || w.keeper(c) != s {
			continue // what can be tried again is decided elsewhere
		}
		w.did = true
		w.decisions++
		p.enter(func() {
			_, err := p.Keep(w.ctx, c.Document, "operator", true)
			w.tells("keep", "site", s, "document", c.Document[:6], "err", err)
			var refusal *engine.Refusal
			if !errors.As(err, &refusal) {
				s.expect(err, "keep", engine.ErrNotFound)
			}
		})
	}
}

// keeper is the site that an operator keeps what it shows of.
func (w *world) keeper(c engine.Conflict) *site {
	at := w.siteOf(c.Site)
	var best *site
	most := 0
	for _, s := range w.sites {
		row, err := s.disk.ResourceByDocument(w.ctx, c.Document)
		if err != nil || row.Local == "" || row.State.Past() {
			continue
		}
		if w.knobs.machines {
			if s != at && (best == nil || best.restored && !s.restored) {
				best = s
			}
			continue
		}
		// The applications have gone on, and what only lost operations have set is at one of them.
		if n := leaves(w.read(s, w.kindOf(row.Kind), row)); best == nil || n > most || n == most && s == at {
			best, most = s, n
		}
	}
	return best
}

// leaves counts the values that a representation has.
func leaves(v any) (n int) {
	switch c := v.(type) {
	case map[string]any:
		for _, member := range c {
			n += leaves(member)
		}
	case []any:
		for _, element := range c {
			n += leaves(element)
		}
	}
	return n + 1
}

// dropNames gives up the resources of which another has the name.
func (w *world) dropNames(s *site, p *process) {
	list, _, err := s.disk.Conflicts(w.ctx, engine.ConflictFilter{Kind: engine.ConflictName, Site: s.id})
	if err != nil {
		w.problem("list conflicts at %s: %v", s.name, err)
	}
	for _, c := range list {
		if p.dead {
			return
		}
		w.did = true
		w.decisions++
		for _, res := range w.resources {
			res.moved = res.moved || res.id == string(c.Resource) && res.kind.Name == c.KindName
		}
		p.enter(func() {
			err := p.Resolve(w.ctx, c.ID, engine.ActionDrop, "")
			w.tells("drop", "site", s, "document", c.Document[:6], "err", err)
			s.expect(err, "drop "+string(c.Document[:6]), engine.ErrSettled, engine.ErrNotFound)
			if err == nil {
				w.nameless[c.Document] = true
			}
		})
	}
}

// Parts of what a site says of a create that it cannot repeat, or of a delete of one of two creates, because of an undeclared action;
// of what people drop, with the reason behind it; and of what builds on a create that was dropped.
const (
	cannotMake = "cannot be made anew"
	dropped    = "dropped by an operator"
	noReplica  = "its create was dropped"
)

// noAnswer is a part of what a site says of a request that was open in the backup it was restored from.
const noAnswer = "in which the request had had no answer yet"

// noBody is a part of what a site says of large bytes that an object which was made anew lacks, since nobody has them any more.
const noBody = "no site has its body"

// heldBack reports whether the reason of a refusal is an action that the catalog does not declare, which an operator has to decide
// about, or large bytes that are lost to this site.
func heldBack(why string) bool {
	return strings.Contains(why, cannotMake) || strings.Contains(why, noBody) || strings.Contains(why, noReplica)
}

func (w *world) decide(s *site, p *process, row engine.OperationRow) {
	var err error
	k := w.kindOf(row.Kind)
	e := s.app.effect(row.ID, s.name)
	why := row.Sites[s.id].Error
	switch {
	case strings.Contains(why, dropped):
		return
	case strings.Contains(why, cannotMake):
		err = p.Drop(w.ctx, row.ID)
	case row.Type == engine.TypeCreate && row.Sites[s.id].State == engine.StateRejected && w.lostContainer(row):
		if !w.settling { // somebody may bring it back
			return
		}
		err = p.Drop(w.ctx, row.ID)
	case row.Sites[s.id].State == engine.StateRejected && row.Type == engine.TypeDelete && s.inTheWay(row):
		err = p.Retry(w.ctx, row.ID)
	case row.Sites[s.id].State == engine.StateRejected && row.Type != engine.TypeCreate:
		return
	case row.Kind == item && len(row.Sites) > 1 && row.Type == engine.TypeCreate && row.Sites[s.id].State == engine.StateRejected && !w.knobs.rejects && len(s.orphans) == 0:
		w.problem("%s: what is to lie in a container was refused, and waits for a person: %s: %s", s.name, row.ID, why)
	case strings.Contains(why, "what has been made since"): // a lost run may have made another
		s.clearBeside(row)
		err = p.Done(w.ctx, row.ID)
	case strings.Contains(why, ", which has been made since"): // what a lost run had made, or what has its identifier since
		s.clear(row, why)
		err = p.Done(w.ctx, row.ID)
	case e != nil && e.times > 0 && strings.Contains(why, e.local+", which was the replica here"): // what only lost operations have set is at it
		err = p.AdoptObject(w.ctx, row.ID, engine.LocalID(e.local))
	case strings.Contains(why, "already that is not a replica"): // a site that was removed has left it, or a lost run had made it
		s.app.lose(k.Name, string(w.here(s, k, row.Resource)))
		err = p.Retry(w.ctx, row.ID)
	case e == nil || e.times == 0:
		err = p.Retry(w.ctx, row.ID)
	case strings.Contains(why, noAnswer) && row.Type == engine.TypeCreate && k.Natural() && s.app.objects[k.Name][string(w.here(s, k, row.Resource))] == nil:
		err = p.Drop(w.ctx, row.ID) // what it had made has been deleted since
	case row.Type != engine.TypeCreate || k.Natural():
		w.saidDone[row.ID] = true
		err = p.Done(w.ctx, row.ID)
	default: // its identifier was lost with the answer: only a person knows which object it is
		s.app.lose(e.kind, e.local)
		e.times = 0
		if row.Document == "" {
			err = p.Drop(w.ctx, row.ID)
		} else {
			err = p.Retry(w.ctx, row.ID)
		}
	}
	if err == nil {
		w.did = true
		w.decisions++
	}
	if err != nil && s.app.mood != (mood{}) {
		return // what it has done cannot be seen now
	}
	s.expect(err, "decide about "+string(row.ID), engine.ErrSettled, engine.ErrNotFound)
}

// here is what a site's application calls what has a name that clients choose.
func (w *world) here(s *site, k *engine.Kind, id engine.ResourceID) engine.LocalID {
	if k.Within == "" {
		return engine.LocalID(id)
	}
	in, own := k.Split(string(id))
	container, err := s.disk.ResourceByID(w.ctx, k.Service, crate, engine.ResourceID(in))
	if err != nil {
		return engine.LocalID(id)
	}
	return engine.LocalID(engine.Inside(string(container.Local), own))
}

// clear deletes what lost runs had made of a resource beside the replica, if it is that.
func (s *site) clear(row engine.OperationRow, why string) {
	objects := s.app.objects[row.Kind]
	for one := range strings.SplitSeq(why, "; ") {
		_, surplus, _ := strings.Cut(one, "and "+string(row.Kind)+" ")
		surplus, _, _ = strings.Cut(surplus, ", which was")
		of := func(res *resource) bool {
			return res.kind.Name == row.Kind && res.id == string(row.Resource) && objects[surplus].fields["tag"] == res.tag
		}
		if objects[surplus] != nil && slices.ContainsFunc(s.w.resources, of) {
			s.app.lose(row.Kind, surplus)
		}
	}
}

// clearBeside deletes what is there of a resource beside the replica.
func (s *site) clearBeside(row engine.OperationRow) {
	for _, res := range s.w.resources {
		if res.kind.Name != row.Kind || res.id != string(row.Resource) {
			continue
		}
		for id, o := range s.app.objects[row.Kind] {
			if o.fields["tag"] == res.tag && !s.owns(res.kind, id) {
				s.app.lose(row.Kind, id)
			}
		}
	}
}

// inTheWay reports whether what a delete has left at a site keeps another resource of its name from being made there.
func (s *site) inTheWay(row engine.OperationRow) bool {
	return slices.ContainsFunc(s.rows(), func(r engine.ResourceRow) bool {
		return r.Document != row.Document && r.Kind == row.Kind && r.ID == row.Resource && r.Pending
	})
}

func (w *world) kindOf(name engine.KindName) *engine.Kind {
	for _, k := range w.kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}
