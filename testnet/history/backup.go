package history

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
)

// backup is what a site's machine held at one moment: its disk, and its application.
type backup struct {
	disk  *world.Disk
	blobs *world.Blobs
	app   *world.Application
	asked int        // how many requests there were
	open  []*request // those that had had no answer yet
}

// restore takes a backup of a site, or sets one back to the backup that there is of it.
func (w *play) restore() {
	w.did = true
	s := w.anySite()
	if s.backup == nil || w.chance(3) {
		open := slices.DeleteFunc(slices.Clone(w.requests), (*request).over)
		s.backup = &backup{s.Disk.Clone(), s.Blobs.Clone(), s.App.Clone(), len(w.requests), open}
		w.log.Info("backup", "site", s.Site)
		return
	}
	if w.Restores > 0 && w.restored == w.Restores {
		return
	}
	w.setBack(s)
	if w.chance(2) {
		w.start(s)
	}
}

// setBack puts a site's disk back as it was at its backup, with its application where that is on the same machine.
func (w *play) setBack(s *site) {
	w.log.Info("set back", "site", s.Site, "application too", w.knobs.machines)
	if s.Proc != nil {
		s.Proc.Die()
	}
	w.restored++
	s.restored = true
	before := s.Disk
	var app *world.Application
	if w.knobs.machines {
		mood := s.App.Mood
		app = s.backup.app
		defer func() { s.App.Mood = mood }()
	}
	s.SetBack(s.backup.disk, s.backup.blobs, app)
	for _, q := range w.requests { // what lies at this site alone is as it was
		q.undone = q.undone || w.knobs.machines && q.resource.thing() && q.resource.placement[0] == s && q.n >= s.backup.asked
	}
	for _, q := range s.backup.open { // it is done again, or for the first time, whatever its client was told
		if q.at != s && !slices.Contains(q.resource.placement, s) {
			continue // it was never here
		}
		q.resource.revived = q.resource.revived || q.refused && q.kind == "create" && !q.resource.kind.Natural()
		q.refused = false
		if !w.knobs.machines {
			q.open = s
		}
		q.undone = q.undone || w.knobs.machines && q.resource.thing() && q.resource.placement[0] == s
	}
	knows := func(id engine.OperationID) bool {
		return slices.ContainsFunc(w.sites, func(other *site) bool {
			row, err := other.Disk.Operation(w.Ctx, id)
			return err == nil && row.Document != ""
		})
	}
	if !w.knobs.machines {
		for _, other := range w.sites { // this one may have been the last to know what others did
			if other.restored {
				w.leaveUntold(other)
			}
		}
	}
	for _, row := range before.AllOperations() {
		now, err := s.Disk.Operation(w.Ctx, row.ID)
		_, kept := s.Disk.Kept(w.Ctx, row.ID)
		if err == nil && (now.Document != "" || row.Document == "") || kept == nil {
			continue
		}
		s.forgotten[row.ID] = true
		if !knows(row.ID) {
			w.lost[row.ID] = true
		}
	}
}

// leaveUntold notes what the application of a site that was set back without it has done, and of which neither it nor any other site
// knows: nobody can know that it was set back, and what runs on it may run once more.
func (w *play) leaveUntold(s *site) {
	for key, e := range s.App.Effects {
		id, _, _ := strings.Cut(key, ".")
		ran := func(at *site) bool {
			row, err := at.Disk.Recalled(engine.OperationID(id))
			st, told := row.Sites[s.ID]
			waits := st.State == engine.StatePending || st.State == engine.StatePaused || st.State == engine.StateHeld
			return err == nil && row.Document != "" && told && !waits
		}
		if e.Times > 0 && !slices.ContainsFunc(w.sites, ran) {
			s.untold[key] = e.Times
		}
	}
}

// noteAlone notes what the application of a site that was set back is asked for once more before that site has met another that knows of it: it waits
// ten seconds for the others, and goes on without them.
func (w *play) noteAlone(s *site) {
	s.App.Watch = func(c engine.Call) {
		e := s.App.Effects[c.Key]
		if !s.restored || c.Key == "" || e == nil || e.Times == 0 {
			return
		}
		id, _, _ := strings.Cut(c.Key, ".")
		for _, other := range w.sites {
			met := s.Proc.Met[other.ID] // what it met at this moment it may have heard after it had sent this
			if _, err := other.Disk.Recalled(engine.OperationID(id)); err == nil && other != s && (met.IsZero() || met.Equal(w.Now)) {
				s.untold[c.Key] = e.Times
			}
		}
	}
}

// isLost reports whether only a site that was set back to a backup had an operation: that is the operator's doing.
func (w *play) isLost(id engine.OperationID) bool {
	return w.lost[id] && !slices.ContainsFunc(w.sites, func(s *site) bool {
		row, err := s.Disk.Recalled(id)
		return err == nil && row.Document != "" && !refusedFirst(row)
	})
}

// orphan reports whether an object is what only a run that is lost had made: nobody has the operation, and nobody looks for it.
func (w *play) orphan(s *site, k *engine.Kind, id string) bool {
	if !s.restored || w.owned(s, k, id) {
		return false
	}
	if in, _, inside := strings.Cut(id, "/"); inside && w.orphan(s, w.Kind(crate), in) {
		return true
	}
	for key := range s.untold {
		if e := s.App.Effects[key]; e != nil && e.Kind == k.Name && e.Local != "" && slices.Contains(e.Runs, id) {
			return true
		}
	}
	return w.lostMade(s, k, id)
}

// lostMade reports whether only an operation that is lost had made an object.
func (w *play) lostMade(s *site, k *engine.Kind, id string) bool {
	for key, e := range s.App.Effects {
		made, _, _ := strings.Cut(key, ".")
		if e.Kind == k.Name && e.Local == id && !w.known(engine.OperationID(made)) {
			return true
		}
	}
	return false
}

// deleteLost lets an operator delete what a site's application still has of a resource that is deleted there, and that a lost run had made: the application
// honours the key of the deletion, which it has had before, and does nothing.
func (w *play) deleteLost(s *site) {
	for _, row := range w.rows(s) {
		k := w.Kind(row.Kind)
		if id := string(row.ID); row.Sites[s.ID].State == engine.StateDeleting && k.HonoursKey && k.Natural() && w.lostMade(s, k, id) {
			w.log.Info("delete", "site", s.Site, "object", id)
			w.lose(s, k.Name, id, row.ID)
		}
	}
}

// owned reports whether an object is a resource's that lives elsewhere, too, or of which all other sites were taken out. A request that an
// application refuses may have adopted an object before, which nobody had then: that lives at this site alone.
func (w *play) owned(s *site, k *engine.Kind, id string) bool {
	row, err := s.Disk.ResourceByLocal(w.Ctx, k.Service, k.Name, engine.LocalID(id))
	moved := func(res *resource) bool { return res.moved && res.kind.Name == k.Name && res.id == string(row.ID) }
	return err == nil && row.State != engine.StateDeleted && (len(row.Sites) > 1 || slices.ContainsFunc(w.resources, moved))
}

// known reports whether a site has an operation in a document.
func (w *play) known(id engine.OperationID) bool {
	return slices.ContainsFunc(w.sites, func(s *site) bool {
		row, err := s.Disk.Recalled(id)
		return err == nil && row.Document != ""
	})
}

// lostContainer reports whether an operation is of something in a container that nobody has any more, since only lost operations had made
// it, of which a client may not even have been told: nothing of it can be made, and an operator gives that up.
func (w *play) lostContainer(row engine.OperationRow) bool {
	if row.Kind != item {
		return false
	}
	id, _ := w.Kind(item).Split(string(row.Resource))
	known := func(s *site) bool {
		r, err := s.Disk.ResourceByID(w.Ctx, row.Service, crate, engine.ResourceID(id))
		return err == nil && !r.State.Past()
	}
	return w.restored > 0 && !slices.ContainsFunc(w.sites, known)
}

// rejoined is a part of what a site says of what its lost run may have done.
const rejoined = "the disk of this site was set back"

// openSince is the end of what it says of a client's request that was open in what it was set back to.
const openSince = rejoined + " since"

// count counts the questions that a person is asked because a site was set back.
func (w *play) count(s *site) {
	if !s.restored {
		return
	}
	list, _, err := s.Disk.Conflicts(w.Ctx, engine.ConflictFilter{Site: s.ID, Limit: 1000})
	if err != nil {
		w.Problem("list conflicts at %s: %v", s.Name, err)
	}
	for _, c := range list {
		if (c.Kind == engine.ConflictRejoined || c.Kind == engine.ConflictUncertain) && !s.questions[c.ID] {
			s.questions[c.ID] = true
			w.asked++
		}
	}
}

// decideRejoined decides what a site asks that was set back, as one does who looks into its application.
func (w *play) decideRejoined(s *site, p *world.Process, row engine.OperationRow) {
	k := w.Kind(row.Kind)
	if row.Type == engine.TypeCreate {
		if local := w.objectOf(s, k, row); local != "" {
			w.decided(s, p, "adopt "+string(row.ID), func() error { return p.Desk.AdoptObject(w.Ctx, row.ID, local, person) })
			return
		}
		w.decided(s, p, "retry "+string(row.ID), func() error { return p.Desk.Retry(w.Ctx, row.ID, person) })
		return
	}
	if e := s.App.Effect(row.ID, s.Name); e != nil && e.Times > 0 {
		w.saidDone[row.ID] = true
		w.decided(s, p, "done "+string(row.ID), func() error { return p.Desk.Done(w.Ctx, row.ID, person) })
		return
	}
	w.decided(s, p, "retry "+string(row.ID), func() error { return p.Desk.Retry(w.Ctx, row.ID, person) })
}

// objectOf finds the object of a resource that an application has, by its tag, or by what the application has noted of the create: nobody was told what
// it is called.
func (w *play) objectOf(s *site, k *engine.Kind, row engine.OperationRow) engine.LocalID {
	made := ""
	if e := s.App.Effect(row.ID, s.Name); e != nil && e.Times > 0 {
		made = e.Local
	}
	for _, res := range w.resources {
		if res.kind != k || res.id != string(row.Resource) && res.id != "" {
			continue
		}
		if o := s.App.Objects(k.Name)[made]; o != nil && o.Fields["tag"] == res.tag {
			return engine.LocalID(made)
		}
		if res.id == "" {
			continue
		}
		for id, o := range s.App.Objects(k.Name) {
			if o.Fields["tag"] == res.tag {
				return engine.LocalID(id)
			}
		}
	}
	return ""
}

// keep lets an operator have all sites show what this one shows of a resource, where they differ because one was set back, or what lay in a container
// went with that: what shows all that was done, as far as anybody can tell.
func (w *play) keep(s *site, p *world.Process) {
	list, _, err := s.Disk.Conflicts(w.Ctx, engine.ConflictFilter{Limit: 1000})
	if err != nil {
		w.Problem("list conflicts at %s: %v", s.Name, err)
	}
	for _, c := range list {
		if p.Dead() {
			return
		}
		if !c.Open() || !slices.Contains(c.Actions, engine.ActionKeep) || slices.Contains(c.Actions, engine.ActionRetry) || w.keeper(c) != s {
			continue // what can be tried again is decided elsewhere
		}
		if !w.knobs.backups && !strings.Contains(c.Reason, neverShown) { // no other difference is one that a person has to settle
			continue
		}
		if w.Now.Sub(w.keeps[c.ID]) < time.Minute { // what was kept takes its time
			continue
		}
		w.keeps[c.ID] = w.Now
		w.decided(s, p, "keep "+string(c.Document[:6]), func() error {
			_, err := p.Desk.Keep(w.Ctx, c.Document, person, true)
			var refusal *engine.Refusal
			if errors.As(err, &refusal) {
				return nil
			}
			return err
		})
	}
}

// keeper is the site that an operator keeps what it shows of.
func (w *play) keeper(c engine.Conflict) *site {
	at := w.siteOf(c.Site)
	var best *site
	most := 0
	for _, s := range w.sites {
		row, err := s.Disk.ResourceByDocument(w.Ctx, c.Document)
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
		if n := leaves(w.read(s, w.Kind(row.Kind), row)); best == nil || n > most || n == most && s == at {
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
