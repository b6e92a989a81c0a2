package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/replica"
	"github.com/skerry/skerry/engine/view"
)

// Bound is how long after the last disturbance all has to be as it must be: the longest wait between two tries of an
// application, two rounds of anti-entropy, and as much again for what builds on that.
const Bound = 3 * time.Minute

// settle lets an operator decide what is uncertain and waits until all is as it must be, at most for Bound.
func (r *run) settle(ctx context.Context) {
	begin := time.Now()
	for {
		for _, s := range r.sites {
			r.operate(ctx, s)
		}
		problems := r.check(ctx)
		r.report.Healed = time.Since(begin)
		if len(problems) == 0 || r.report.Healed > Bound {
			r.mu.Lock()
			r.report.Problems = append(r.problems, problems...)
			r.mu.Unlock()
			break
		}
		time.Sleep(2 * time.Second)
	}
}

// tell reports the requests.
func (r *run) tell() {
	for _, q := range r.requests {
		r.report.Requests++
		if q.acknowledged() {
			r.report.Acknowledged++
		} else if !q.refused {
			r.report.Unclear++
		}
		r.report.Trace = append(r.report.Trace, fmt.Sprintf("%s\n  u%d from %.3fs to %.3fs: %d %s %s", q.step, q.n,
			q.began.Seconds(), q.ended.Seconds(), q.status, q.operation, strings.TrimSpace(q.detail)))
	}
}

// operate decides what waits for a person at one site, as a truthful one does who looks into the application.
func (r *run) operate(ctx context.Context, s *site) {
	if s.lab != nil { // its services honour keys
		return
	}
	p := s.now.Load()
	rows, _, err := p.store.Operations(ctx, engine.OperationFilter{State: engine.StateUncertain, Limit: 1000})
	if err != nil {
		r.problem("list what is uncertain at %s: %v", s.name, err)
	}
	for _, row := range rows {
		if row.Sites[s.id].State != engine.StateUncertain {
			continue
		}
		e := s.app.effectOf(row.ID, s.name)
		switch {
		case e.times == 0:
			err = p.Desk.Retry(ctx, row.ID, person)
		case row.Type != engine.TypeCreate || kindOf(row.Kind).Natural():
			err = p.Desk.Done(ctx, row.ID, person)
		default: // its identifier was lost with the answer: only a person knows which object it is
			s.app.remove(e.kind, e.local)
			if err = p.Desk.Retry(ctx, row.ID, person); row.Document == "" {
				err = p.Desk.Drop(ctx, row.ID, person)
			}
		}
		if err != nil && !errors.Is(err, engine.ErrSettled) && !errors.Is(err, engine.ErrNotFound) {
			r.problem("decide about operation %s at %s: %v", row.ID, s.name, err)
		}
		r.report.Decisions++
	}
}

// check returns all that is not as it must be.
func (r *run) check(ctx context.Context) (problems []string) {
	if r.plan.Things != nil {
		return r.checkThings(ctx)
	}
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	r.report.Contended = 0
	named := map[engine.ResourceID]engine.DocumentID{}
	objects := make([]map[string][]object, len(r.sites))
	for i, s := range r.sites {
		objects[i] = s.app.all()
		lost := r.findOwners(ctx, s, named, say)
		r.report.Contended += len(lost)
		r.checkSite(ctx, s, lost, say)
	}
	r.learn(ctx)
	r.placements = make([][]int, len(r.plan.Resources))
	for i := range r.plan.Resources {
		r.placements[i] = r.placement(ctx, i, say)
		r.checkResource(i, objects, say)
		r.checkCount(ctx, i, objects, say)
	}
	r.report.Superseded, r.report.Operations, r.report.Epochs = 0, r.operations(ctx, say), r.epochs(ctx, say)
	for _, q := range r.requests {
		if q.acknowledged() {
			r.checkRequest(ctx, q, say)
		}
		r.checkOnce(q, say)
	}
	return problems
}

// learn finds out how the resources are called whose creates were kept, for sites out of reach.
func (r *run) learn(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range r.requests {
		if q.step.Kind != StepCreate || q.status != 202 || r.ids[q.step.Resource] != "" {
			continue
		}
		if row, err := r.sites[q.step.Site].now.Load().store.Operation(ctx, q.operation); err == nil {
			r.ids[q.step.Resource] = row.Resource
		}
	}
}

// operations counts those that are in a document, or were.
func (r *run) operations(ctx context.Context, say func(string, ...any)) int {
	all := map[engine.OperationID]bool{}
	for _, s := range r.sites {
		f := engine.OperationFilter{Limit: 1000}
		for again := true; again; again = f.Cursor != "" {
			rows, next, err := s.now.Load().store.Operations(ctx, f)
			if err != nil {
				say("%s: %v", s.name, err)
			}
			for _, row := range rows {
				switch {
				case row.Document != "":
					all[row.ID] = true
				case row.Sites[s.id].State == engine.StatePending:
					say("%s: operation %s is listed as pending, and nothing is open", s.name, row.ID)
				}
			}
			f.Cursor = next
		}
	}
	return len(all)
}

// epochs counts those that resources have gone on to, at the site that is the farthest.
func (r *run) epochs(ctx context.Context, say func(string, ...any)) (n int) {
	most := map[engine.DocumentID]uint64{}
	for _, s := range r.sites {
		store := s.now.Load().store
		for _, state := range []engine.State{"", engine.StateDeleted} {
			rows, _, err := store.Resources(ctx, engine.ResourceFilter{State: state, Limit: 1000})
			if err != nil {
				say("%s: %v", s.name, err)
			}
			for _, row := range rows {
				rec, err := store.Record(ctx, row.Document)
				if err != nil {
					say("%s: %v", s.name, err)
				}
				most[row.Document] = max(most[row.Document], rec.Epoch)
			}
		}
	}
	for _, epoch := range most {
		n += int(epoch)
	}
	return n
}

// yields are the resources of which a site tells that another has their name there: both live, because two sites, cut off
// from each other, have made them.
type yields map[engine.DocumentID]bool

// findOwners reads what a site yields, and sees to it that it tells so, and that exactly one resource of each name has it, the
// same at all sites: named says which it was at others.
func (r *run) findOwners(ctx context.Context, s *site, named map[engine.ResourceID]engine.DocumentID, say func(string, ...any)) yields {
	store, found := s.now.Load().store, yields{}
	list, _, err := store.Conflicts(ctx, engine.ConflictFilter{Kind: engine.ConflictName, Site: s.id, Limit: 1000})
	if err != nil {
		say("%s: %v", s.name, err)
	}
	for _, c := range list {
		found[c.Document] = true
	}
	rows, _, err := store.Resources(ctx, engine.ResourceFilter{Limit: 1000})
	if err != nil {
		say("%s: %v", s.name, err)
	}
	owners, others := map[engine.ResourceID]engine.ResourceRow{}, map[engine.ResourceID]engine.ResourceRow{}
	for _, row := range rows {
		switch _, twice := owners[row.ID]; {
		case found[row.Document]:
			others[row.ID] = row
			if row.Local != "" || row.State != engine.StateConflict || row.Reason == "" {
				say("%s: %s yields its name, and is %s and here as %q: %s", s.name, row.ID, row.State, row.Local, row.Reason)
			}
		case twice:
			say("%s: two resources have the name %s", s.name, row.ID)
		default:
			owners[row.ID] = row
		}
	}
	for id := range others {
		if owner, ok := owners[id]; !ok || named[id] != "" && named[id] != owner.Document {
			say("%s: %s yields its name, and the one to have it is document %.8s (%t), at another site %.8s", s.name, id, owner.Document, ok, named[id])
		} else {
			named[id] = owner.Document
		}
	}
	return found
}

// checkSite sees to it that nothing is left to do at a site, and that it holds nothing that is not its own.
func (r *run) checkSite(ctx context.Context, s *site, lost yields, say func(string, ...any)) {
	p := s.now.Load()
	store := p.store
	pending, err := store.Pending(ctx)
	errands, err2 := store.Errands(ctx)
	kept, err3 := store.Outbox(ctx)
	if err := errors.Join(err, err2, err3); err != nil {
		say("%s: %v", s.name, err)
	}
	for _, id := range pending {
		say("%s has something left to do for document %.8s: %s", s.name, id, p.left(ctx, id))
	}
	for _, e := range errands {
		say("%s: the errand of operation %s is open", s.name, e.Operation)
	}
	for _, k := range kept {
		say("%s: operation %s is kept", s.name, k.Operation)
	}
	for _, state := range []engine.State{"", engine.StateDeleted} {
		rows, _, err := store.Resources(ctx, engine.ResourceFilter{State: state, Limit: 1000})
		if err != nil {
			say("%s: %v", s.name, err)
		}
		for _, row := range rows {
			if row.State != engine.StateConverged && row.State != engine.StateDeleted && !lost[row.Document] {
				say("%s: %s %s is %s: %s (document %.8s: %s)", s.name, row.Kind, row.ID, row.State, row.Reason, row.Document, p.left(ctx, row.Document))
			}
			err := p.Site.Look(ctx, row.Document, func(r *replica.Replica) {
				if f := r.Own; f != nil {
					say("%s: operation %s of %s is in flight: %s", s.name, f.Operation.ID, row.ID, f.Why)
				}
			})
			if err != nil {
				say("%s: %v", s.name, err)
			}
		}
	}
	for _, other := range r.sites {
		switch q := other.now.Load(); {
		case other == s:
		case p.Site.MeshFingerprint() != q.Site.MeshFingerprint():
			say("%s and %s know the mesh differently", s.name, other.name)
		case !slices.Equal(p.Site.Fingerprints(other.id, everything), q.Site.Fingerprints(s.id, everything)):
			say("%s and %s hold differently what they share: %s", s.name, other.name, p.unlike(ctx, q))
		}
		r.checkShared(ctx, s, other, say)
	}
}

// everything is the range of all documents.
var everything = []engine.Range{{}}

// checkShared sees to it that a site shares with another only what it has, or had, a part in.
func (r *run) checkShared(ctx context.Context, s, other *site, say func(string, ...any)) {
	p := s.now.Load()
	list, err := p.Site.Digests(ctx, other.id, engine.Range{})
	if err != nil {
		say("%s: %v", s.name, err)
	}
	for _, d := range list {
		for _, id := range []engine.SiteID{s.id, other.id} {
			err := p.Site.Look(ctx, d.Document, func(r *replica.Replica) {
				if r.Part(id) == view.PartNone {
					say("%s shares document %.8s with %s, and %s has no part in it", s.name, d.Document, other.name, id)
				}
			})
			if err != nil {
				say("%s: document %.8s: %v", s.name, d.Document, err)
			}
		}
	}
}

// left says what a site has left to do for a resource, for people.
func (p *process) left(ctx context.Context, id engine.DocumentID) (text string) {
	err := p.Site.Look(ctx, id, func(r *replica.Replica) {
		text = fmt.Sprintf("%s %s %s, part %d, busy %t, idle %t, looks %t, next %q, %d epochs, ending %t, over %t, rejoins %t, %d held back, waits %v", r.About.Collaboration,
			r.About.Kind, r.About.Key, r.Part(r.Self), r.Busy(), r.Idle(), r.Looks(), r.NextStep().Kind, len(r.Epochs), compact.EpochEnding(r.View), compact.EpochOver(r.View), r.Me.Rejoins, view.HeldBack(r.View), r.Me.Waits)
	})
	rec, err2 := p.store.Record(ctx, id)
	if err := errors.Join(err, err2); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s, pending %t: %s", text, rec.Row.Pending, rec.Row.Reason)
}

// unlike says of which documents two sites have different digests, for people.
func (p *process) unlike(ctx context.Context, q *process) string {
	var list []string
	mine, err := p.Site.Digests(ctx, q.site.id, engine.Range{})
	theirs, err2 := q.Site.Digests(ctx, p.site.id, engine.Range{})
	if err := errors.Join(err, err2); err != nil {
		return err.Error()
	}
	for _, x := range [][2][]engine.Digest{{mine, theirs}, {theirs, mine}} {
		for _, d := range x[0] {
			if !slices.Contains(x[1], d) {
				list = append(list, fmt.Sprintf("%.8s (%s; %s)", d.Document, p.left(ctx, d.Document), q.left(ctx, d.Document)))
			}
		}
	}
	return strings.Join(list, ", ")
}

// placement tells where a resource has come to live. Those that have it agree.
func (r *run) placement(ctx context.Context, i int, say func(string, ...any)) (sites []int) {
	res := r.plan.Resources[i]
	if !res.Moves {
		return res.Placement
	}
	for _, s := range r.sites {
		row, err := s.now.Load().store.ResourceByID(ctx, res.Kind.Service, res.Kind.Name, engine.ResourceID(r.target(i)))
		if err != nil || row.State.Past() {
			continue
		}
		var here []int
		for n, other := range r.sites {
			if _, has := row.Sites[other.id]; has {
				here = append(here, n)
			}
		}
		if sites == nil {
			sites = here
		}
		if !slices.Equal(sites, here) {
			say("%s: %s lives at %v, as others see it at %v", s.name, res.Tag, here, sites)
		}
	}
	return sites
}

// checkResource sees to it that a resource is the same at all sites of its placement and nowhere else.
func (r *run) checkResource(i int, objects []map[string][]object, say func(string, ...any)) {
	res := r.plan.Resources[i]
	var first map[string]any
	for n, s := range r.sites {
		at := objects[n][res.Tag]
		held := slices.Contains(r.placements[i], n)
		switch {
		case !held && len(at) > 0 && !res.Moves: // where it was removed its object stays
			say("%s is at %s, which is not in its placement", res.Tag, s.name)
		case len(at) > 1:
			say("%s is there %d times at %s: %s", res.Tag, len(at), s.name, encode(fieldsOf(at)))
		}
		if !held {
			continue
		}
		var fields map[string]any
		if len(at) > 0 {
			fields = at[0].fields
		}
		if n == r.placements[i][0] {
			first = fields
		} else if a, b := encode(first), encode(fields); string(a) != string(b) {
			say("%s differs: %s shows %s, %s shows %s", res.Tag, r.sites[r.placements[i][0]].name, a, s.name, b)
		}
	}
	creates, made, deletes, deleted := 0, false, 0, false
	for _, q := range r.requests {
		if q.step.Resource != i || q.refused {
			continue
		}
		switch q.step.Kind {
		case StepCreate:
			creates, made = creates+1, made || q.acknowledged()
		case StepDelete:
			deletes, deleted = deletes+1, deleted || q.status == 204
		}
	}
	puts := res.Kind.ID.From == engine.IDFromPath && res.Whole // a whole representation of what is not there creates it
	switch {
	case made && deletes == 0 && first == nil:
		say("%s was created and is gone", res.Tag)
	case creates == 1 && deleted && first != nil && !puts && !res.Kind.UpdateWins:
		say("%s was deleted and is there", res.Tag)
	}
	// A whole representation ends what its author did not see, and a second create of a note is one.
	if deletes > 0 || res.Whole || res.Kind.ReplaceWhole || first == nil || res.Kind.ID.From == engine.IDFromPath && creates > 1 {
		return
	}
	for _, q := range r.requests {
		sets := q.step.Kind == StepCreate || q.step.Kind == StepPatch || q.step.Kind == StepJSON
		if _, shown := first[q.field()]; q.step.Resource == i && sets && q.acknowledged() && q.status != 202 && !shown {
			say("%s does not show what %s at site%d set (u%d, operation %s): %s", res.Tag, q.step.Kind, q.step.Site, q.n, q.operation, encode(first))
		}
	}
}

// checkCount sees to it that a counter that nobody sets is what all that counted has added.
func (r *run) checkCount(ctx context.Context, i int, objects []map[string][]object, say func(string, ...any)) {
	res := r.plan.Resources[i]
	if res.Kind != gate || len(r.placements[i]) == 0 { // of another kind a second create may begin anew
		return
	}
	first := r.placements[i][0]
	at, want := objects[first][res.Tag], 0
	for _, q := range r.requests {
		switch {
		case q.step.Resource != i || q.refused:
		case q.step.Kind == StepPut, q.step.Kind == StepDelete, q.step.Kind == StepIncr && q.operation == "":
			return // it may have set the counter, or nobody knows whether it has added to it
		case q.step.Kind == StepIncr:
			if row, err := r.sites[first].now.Load().store.Operation(ctx, q.operation); err == nil && row.Document != "" {
				want += q.n + 1
			}
		}
	}
	if len(at) == 1 {
		if count, _ := at[0].fields["count"].(float64); int(count) != want {
			say("%s counts %v at site%d, and %d was added", res.Tag, count, first, want)
		}
	}
}

func fieldsOf(list []object) []map[string]any {
	var all []map[string]any
	for _, o := range list {
		all = append(all, o.fields)
	}
	return all
}

// checkRequest sees to it that an acknowledged operation was applied at every site, or that every site tells why not.
func (r *run) checkRequest(ctx context.Context, q *request, say func(string, ...any)) {
	res := r.plan.Resources[q.step.Resource]
	if q.operation == "" {
		say("u%d was acknowledged (%d) without an operation", q.n, q.status)
		return
	}
	if q.status == 202 {
		row, err := r.sites[q.step.Site].now.Load().store.Operation(ctx, q.operation)
		switch {
		case err != nil:
			say("operation %s, kept at site%d for u%d: %v", q.operation, q.step.Site, q.n, err)
			return
		case row.State == engine.StateRejected && row.Document == "":
			return // the site that it was kept for refused it, and it is told where it was asked for
		}
	}
	superseded := false
	for _, n := range r.placements[q.step.Resource] {
		s := r.sites[n]
		row, err := s.now.Load().store.Operation(ctx, q.operation)
		if _, told := row.Sites[s.id]; !told && !slices.Contains(res.Placement, n) && (err == nil || errors.Is(err, engine.ErrNotFound)) {
			continue // it was added, and began with a checkpoint that stands for the operation
		}
		if err != nil {
			say("operation %s (u%d, %s of %s at site%d) is not known at %s: %v", q.operation, q.n, q.step.Kind, res.Tag, q.step.Site, s.name, err)
			continue
		}
		switch st := row.Sites[s.id]; st.State {
		case engine.StateApplied:
			if e := s.app.effectOf(q.operation, s.name); q.step.Kind == StepStart && e.times != 1 && !res.Moves {
				say("%s: action %s (u%d) counts as applied and ran %d times", s.name, q.operation, q.n, e.times)
			}
		case engine.StateSuperseded:
			superseded = true
		case engine.StatePending:
			if conflicts, err := s.now.Load().store.ConflictsOf(ctx, row.Document); err != nil || !slices.ContainsFunc(conflicts, func(c engine.Conflict) bool {
				return c.Kind == engine.ConflictName && c.Site == s.id
			}) {
				say("%s: operation %s (u%d, %s of %s at site%d) is pending: %s (%v)", s.name, q.operation, q.n, q.step.Kind, res.Tag, q.step.Site, st.Error, err)
			}
		default:
			say("%s: operation %s (u%d, %s of %s at site%d) is %s: %s", s.name, q.operation, q.n, q.step.Kind, res.Tag, q.step.Site, st.State, st.Error)
		}
	}
	if superseded {
		r.report.Superseded++
	}
}

// checkOnce sees to it that nothing that must not be repeated ran twice, whatever the client was told.
func (r *run) checkOnce(q *request, say func(string, ...any)) {
	once := q.step.Kind == StepStart || q.step.Kind == StepIncr || q.step.Kind == StepCreate && !r.plan.Resources[q.step.Resource].Kind.Natural()
	if q.operation == "" || !once {
		return
	}
	for _, s := range r.sites {
		if e := s.app.effectOf(q.operation, s.name); e.times > 1 && !(q.step.Kind == StepCreate && r.report.Decisions > 0) {
			say("%s: %s %s (u%d) ran %d times", s.name, q.step.Kind, q.operation, q.n, e.times)
		}
	}
}

// person is who decides in simulations.
var person = engine.Decider{User: "operator"}
