package history

import (
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
)

// operate lets an operator decide about what waits for a person at a site, as a truthful one does who looks into the
// application.
func (w *play) operate(s *site) {
	p := s.Proc
	if p == nil {
		return
	}
	w.count(s)
	for _, state := range []engine.State{engine.StateUncertain, engine.StateRejected} {
		rows, _, err := s.Disk.Operations(w.Ctx, engine.OperationFilter{State: state, Site: s.ID, Limit: 1000})
		if err != nil {
			w.Problem("list operations at %s: %v", s.Name, err)
		}
		for _, row := range rows {
			if !p.Dead() {
				w.decide(s, p, row)
			}
		}
	}
	if !p.Dead() {
		w.findOut(s, p)
	}
	if (w.knobs.backups || w.knobs.contains) && !p.Dead() {
		w.keep(s, p)
	}
	if w.knobs.backups && w.restored > 0 && !w.knobs.machines && !p.Dead() {
		w.deleteLost(s)
	}
	if w.knobs.drops && !p.Dead() {
		w.dropNames(s, p)
	}
	if w.knobs.contains && !p.Dead() {
		w.letBe(s, p, engine.ConflictNameTaken)
	}
	if !p.Dead() {
		w.letBe(s, p, engine.ConflictOrder)
	}
}

// decided has a person's decision done at a site.
func (w *play) decided(s *site, p *world.Process, what string, do func() error) {
	w.did = true
	w.decisions++
	w.Do(p, func() {
		err := do()
		w.log.Info("decide", "site", s.Site, "what", what, "err", err)
		if s.App.Mood != (world.Mood{}) {
			return // what it has done cannot be seen now
		}
		w.expect(s, p, err, what, engine.ErrSettled, engine.ErrNotFound)
	})
}

// findOut looks for what has become of requests that another site was asked for so long ago that it does not know.
func (w *play) findOut(s *site, p *world.Process) {
	rows, _, err := s.Disk.Operations(w.Ctx, engine.OperationFilter{State: engine.StateUncertain, Limit: 1000})
	if err != nil {
		w.Problem("list operations at %s: %v", s.Name, err)
	}
	for _, row := range rows {
		if _, here := row.Sites[s.ID]; here || row.Document != "" {
			continue
		}
		settle, ran := p.Desk.Drop, slices.ContainsFunc(w.sites, func(at *site) bool { e := at.App.Effect(row.ID, at.Name); return e != nil && e.Times > 0 })
		if ran {
			settle = p.Desk.Done
			w.saidDone[row.ID] = true
		}
		w.decided(s, p, "find out "+string(row.ID), func() error { return settle(w.Ctx, row.ID, person) })
	}
}

// dropNames gives up the resources of which another has the name.
func (w *play) dropNames(s *site, p *world.Process) {
	list, _, err := s.Disk.Conflicts(w.Ctx, engine.ConflictFilter{Kind: engine.ConflictName, Site: s.ID})
	if err != nil {
		w.Problem("list conflicts at %s: %v", s.Name, err)
	}
	for _, c := range list {
		if p.Dead() {
			return
		}
		for _, res := range w.resources {
			res.moved = res.moved || res.id == string(c.Resource) && res.kind.Name == c.KindName
		}
		w.decided(s, p, "drop "+string(c.Document[:6]), func() error {
			err := p.Desk.Resolve(w.Ctx, c.ID, engine.ActionDrop, "", person)
			if err == nil {
				w.nameless[c.Document] = true
			}
			return err
		})
	}
}

// Parts of what a site says of a create that it cannot repeat, or of a delete of one of two creates, because of an undeclared action;
// of what people drop, with the reason behind it; of what builds on a create that was dropped; and of large bytes that an object
// which was made anew lacks, since nobody has them any more; of a create whose name has an object that is another resource's; of a
// deletion that an application has accepted and not done; of one that found nothing, after which it shows something; of content that left with the
// last site that had it; and of what went with its container before it was looked at.
const (
	cannotMake = "cannot be made anew"
	dropped    = engine.GivenUp
	noReplica  = "its create was dropped"
	noBody     = "no site has its body"
	rival      = "either this one gets the name"
	stillThere = "and the object is still there"
	mayBeOther = "somebody has to say whether that is to go"
	unheld     = "all sites that had it have left"
	neverShown = "the application has never shown it"
)

// heldBack reports whether the reason of a refusal is an action that the catalog does not declare, which an operator has to decide
// about, or large bytes that are lost to this site.
func heldBack(why string) bool {
	return strings.Contains(why, cannotMake) || strings.Contains(why, noBody) || strings.Contains(why, noReplica)
}

// decide decides about one operation, by what the application has.
func (w *play) decide(s *site, p *world.Process, row engine.OperationRow) {
	e := s.App.Effect(row.ID, s.Name)
	ran := e != nil && e.Times > 0
	k, why := w.Kind(row.Kind), row.Sites[s.ID].Error
	refused := row.Sites[s.ID].State == engine.StateRejected
	create := row.Type == engine.TypeCreate
	retry, done, drop := p.Desk.Retry, p.Desk.Done, p.Desk.Drop
	what, settle := "retry ", retry
	switch {
	case strings.Contains(why, dropped), refused && row.Document == "":
		return
	case strings.Contains(why, rejoined) && !strings.HasSuffix(why, openSince):
		w.decideRejoined(s, p, row)
		return
	case strings.Contains(why, cannotMake):
		what, settle = "drop ", drop
	case refused && create && w.lostContainer(row):
		if !w.settling { // somebody may bring it back
			return
		}
		what, settle = "drop ", drop
	case refused && row.Type == engine.TypeDelete && ran && w.settling && strings.HasSuffix(why, mayBeOther): // what is there came after it
		what, settle = "done ", done
	case refused && row.Type == engine.TypeDelete && (w.inTheWay(s, row) || w.settling && strings.HasSuffix(why, stillThere)):
	case refused && row.Type == engine.TypePlace && strings.Contains(why, unheld):
		what, settle = "done ", done
	case refused && !create:
		return
	case row.Kind == item && len(row.Sites) > 1 && create && refused && !strings.Contains(why, rival) && !w.knobs.rejects && !w.knobs.backups:
		w.Problem("%s: what is to lie in a container was refused, and waits for a person: %s: %s", s.Name, row.ID, why)
		return
	case row.Document != "" && strings.Contains(why, rival): // its object is the other one's, and goes with what lies in it
		w.emptied[emptied{s, row.Resource}] = true
	case strings.Contains(why, "already, and no shared resource owns that"): // a site that was removed has left it, or a lost run had made it
		w.lose(s, k.Name, string(w.here(s, k, row.Resource)), row.Resource)
	case !ran:
	case !create || k.Natural():
		w.saidDone[row.ID] = true
		what, settle = "done ", done
	default: // its identifier was lost with the answer: only a person knows which object it is
		w.lose(s, e.Kind, e.Local, row.Resource)
		e.Times = 0
		if row.Document == "" {
			what, settle = "drop ", drop
		}
	}
	asked := question{p, row.ID}
	if w.deciding[asked] { // what the application has will be something else once that is done
		return
	}
	w.deciding[asked] = true
	w.decided(s, p, what+string(row.ID), func() error {
		defer delete(w.deciding, asked)
		return settle(w.Ctx, row.ID, person)
	})
}

// lose lets an operator delete the object of a resource behind the agent's back, a crate with what lies in it.
func (w *play) lose(s *site, k engine.KindName, local string, id engine.ResourceID) {
	w.emptied[emptied{s, id}] = true
	s.App.Lose(k, local)
}

// emptied is a crate at a site that an operator has had deleted there with what lies in it.
type emptied struct {
	at    *site
	crate engine.ResourceID
}

// question is what a person is deciding about, at one process.
type question struct {
	at *world.Process
	of engine.OperationID
}

// here is what a site's application calls what has a name that clients choose.
func (w *play) here(s *site, k *engine.Kind, id engine.ResourceID) engine.LocalID {
	if k.Within == "" {
		return engine.LocalID(id)
	}
	in, own := k.Split(string(id))
	container, err := s.Disk.ResourceByID(w.Ctx, k.Service, crate, engine.ResourceID(in))
	if err != nil {
		return engine.LocalID(id)
	}
	return engine.LocalID(engine.Inside(string(container.Local), own))
}

// inTheWay reports whether what a delete has left at a site keeps another resource of its name from being made there.
func (w *play) inTheWay(s *site, row engine.OperationRow) bool {
	return slices.ContainsFunc(w.rows(s), func(r engine.ResourceRow) bool {
		return r.Document != row.Document && r.Kind == row.Kind && r.ID == row.Resource && r.Pending
	})
}

// person is who decides in the plays.
var person = engine.Decider{User: "operator"}
