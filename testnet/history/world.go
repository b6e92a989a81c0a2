package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/memory"
)

// Options say what to play. The same options give the same history.
type Options struct {
	Seed uint64
	// Skip are the numbers of steps that are left out.
	Skip map[int]bool
	// Backups says that in one of so many histories sites are set back to backups; 0: in none.
	Backups int
	// Restores is how often sites are set back at most in one history; 0: any number of times.
	Restores int
	// Log gets what happens; nil: nobody does.
	Log *slog.Logger
}

// Report is what came of one history.
type Report struct {
	Steps        int
	Operations   int // that are in a document, or were, in the end
	Requests     int
	Acknowledged int
	Superseded   int
	Decisions    int // that an operator took
	Deaths       int
	Restored     int // how often a site was set back to a backup
	Lost         int // acknowledged requests that only such a site knew
	Contended    int // how often, in the end, a resource at a site has lost its name to another
	Virtual      time.Duration
	Problems     []string // what was not as it must be; empty is success
	played       []int    // the steps that did something
}

// knobs are drawn for a history as a whole, so that histories differ: most have few kinds of trouble.
type knobs struct {
	steps     int
	loss      int // one in so many letters and requests is lost; 0: none
	again     int // one in so many letters arrives twice; 0: none
	nested    int // one in so many calls to an application has other things happen meanwhile; 0: none
	cuts      bool
	deaths    bool
	moods     bool
	rejects   bool // applications may refuse for good, so that sites may differ, and say so
	full      bool
	skews     bool
	rules     bool // the catalog has rules of its own
	moves     bool // sites are added to placements and removed from them
	crosses   bool // resources are spread over their sites, and divide their count
	pauses    bool
	drops     bool // operators give up what has lost its name
	holds     bool // a site that was away holds deletions above a few
	whole     bool // clients put whole representations that others may not have seen
	deletes   bool
	actions   bool
	contains  bool // resources hold others
	files     bool
	large     bool // some files are too large to travel inside operations
	patches   bool
	backups   bool // sites are set back to backups
	machines  bool // with their applications
	fields    int
	resources int
}

// world is one history that is played.
type world struct {
	Options
	ctx      context.Context
	log      *slog.Logger
	tell     bool
	knobs    knobs
	kinds    []*engine.Kind
	classify func(engine.ServiceName, string, string, map[string]string) (engine.KindName, engine.Type, bool)
	source   rand.PCG
	rng      *rand.Rand // of the step that is played
	luck     *rand.Rand // of the engine: what it asks for does not change what the world draws
	now      time.Time
	ids      int
	lives    int
	depth    int // of things that happen while others are under way
	nested   int // steps that there were while something else was under way
	did      bool
	settling bool // everything is healed

	changes   memory.Changes
	sites     []*site
	cut       [][]bool // from one site to another
	wire      []letter
	resources []*resource
	things    []*resource // that lie at one part of a container each
	requests  []*request
	saidDone  map[engine.OperationID]bool // by an operator, who has found that it ran

	lost     map[engine.OperationID]bool // that only a site that was set back had
	nameless map[engine.DocumentID]bool  // resources whose name, which is another's, an operator has given up

	deaths, decisions, superseded, contended, restored int
	problems                                           []string
}

// letter is an envelope under way.
type letter struct {
	from, to *site
	envelope engine.Envelope
}

// resource is one that clients know of. Tag tells its objects apart at every site.
type resource struct {
	tag       string
	kind      *engine.Kind
	placement []*site
	// whole says that clients also put whole representations, which may end fields that their author did not know.
	whole bool
	// cross says that it is spread over its placement, twin that the first two sites hold one part together.
	cross, twin bool
	// within is the container that it lies in; nil: in none.
	within *resource
	// moved says that its placement was to change.
	moved bool
	// removed are sites that were to leave its placement.
	removed []*site
	// id is what clients call it; empty while nobody has been told.
	id string
}

// parts are those that it is created with where it is spread, nil otherwise.
func (r *resource) parts() engine.Parts {
	if !r.cross {
		return nil
	}
	var parts engine.Parts
	for i, s := range r.placement {
		if i == 1 && r.twin {
			parts[0] = append(parts[0], s.id)
			continue
		}
		parts = append(parts, []engine.SiteID{s.id})
	}
	return parts
}

// Play plays a history.
func Play(o Options) Report {
	w := &world{Options: o, ctx: context.Background(), log: o.Log, tell: o.Log != nil,
		saidDone: map[engine.OperationID]bool{}, lost: map[engine.OperationID]bool{}, nameless: map[engine.DocumentID]bool{},
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	begin := w.now
	w.rng, w.luck = rand.New(&w.source), rand.New(rand.NewPCG(o.Seed, 1<<40))
	w.seed(0)
	w.draw()
	var played []int
	for i := 1; i <= w.knobs.steps && len(w.problems) == 0; i++ {
		if o.Skip[i] {
			continue
		}
		w.seed(i)
		w.did = false
		w.step()
		if w.did {
			played = append(played, i)
		}
	}
	w.seed(1 << 30)
	w.settle()
	r := Report{Steps: w.knobs.steps, Requests: len(w.requests), Decisions: w.decisions, Deaths: w.deaths, Superseded: w.superseded,
		Restored: w.restored, Contended: w.contended, Virtual: w.now.Sub(begin), Problems: w.problems, played: played}
	r.Operations = w.operations()
	for _, q := range w.requests {
		if q.acknowledged() {
			r.Acknowledged++
			if w.isLost(q.operation) {
				r.Lost++
			}
		}
	}
	return r
}

// seed makes what follows depend on the seed and n alone.
func (w *world) seed(n int) { w.source.Seed(w.Seed, uint64(n)) }

// chance is true once in n times; never for 0.
func (w *world) chance(n int) bool { return n > 0 && w.rng.IntN(n) == 0 }

func (w *world) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// tells writes what happens to the log, if there is one.
func (w *world) tells(what string, args ...any) {
	if w.tell {
		w.log.Info(what, args...)
	}
}

// newID makes a UUID of version 7, which sorts by time.
func (w *world) newID() string {
	w.ids++
	ms := w.now.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, w.ids)
}

func (w *world) fill(b []byte) {
	for i := range b {
		b[i] = byte(w.luck.Uint32())
	}
}

// draw makes the world: its kinds, sites and resources.
func (w *world) draw() {
	r := w.rng
	w.knobs = knobs{
		steps: 20 + r.IntN(150), cuts: w.chance(2), deaths: w.chance(2), moods: w.chance(2), rejects: w.chance(8), full: w.chance(8),
		skews: w.chance(3), pauses: w.chance(4), holds: w.chance(4), whole: w.chance(3), deletes: w.chance(2), actions: w.chance(2), files: w.chance(4), patches: w.chance(3),
		fields: 1 + r.IntN(4), resources: 1 + r.IntN(4), loss: []int{0, 0, 3, 20}[r.IntN(4)], again: []int{0, 5}[r.IntN(2)],
		nested: []int{0, 2, 6}[r.IntN(3)],
	}
	w.kinds = newKinds(r)
	w.knobs.moves = rand.New(rand.NewPCG(w.Seed, 1<<43)).IntN(4) == 0 // so that others are as they were
	w.knobs.drops = w.Seed%4 == 0
	if extra := rand.New(rand.NewPCG(w.Seed, 1<<42)); extra.IntN(2) == 0 { // so that others are as they were
		w.knobs.rules = true
		rule(w.kinds, extra)
	}
	spread := rand.New(rand.NewPCG(w.Seed, 1<<44)) // so that others are as they were
	if w.knobs.crosses = spread.IntN(3) == 0; w.knobs.crosses {
		for _, k := range w.kinds {
			k.Divide = []engine.Pointer{"/count"}
		}
	}
	w.knobs.large = rand.New(rand.NewPCG(w.Seed, 1<<45)).IntN(4) == 0       // so that others are as they were
	if w.knobs.large && rand.New(rand.NewPCG(w.Seed, 1<<47)).IntN(2) == 0 { // so that others are as they were
		for _, k := range w.kinds {
			k.Content = []engine.Content{{Read: k.Item + "/file", Method: http.MethodPut, Write: k.Item + "/file"}}
		}
	}
	plain, inside := len(w.kinds), rand.New(rand.NewPCG(w.Seed, 1<<46)) // so that others are as they were
	if w.knobs.contains = inside.IntN(4) == 0; w.knobs.contains {
		w.kinds = append(w.kinds, newContainers(inside)...)
	}
	if set := rand.New(rand.NewPCG(w.Seed, 1<<47)); w.Backups > 0 && set.IntN(w.Backups) == 0 { // so that others are as they were
		w.knobs.backups, w.knobs.machines = true, set.IntN(2) == 0
	}
	w.classify = classify(w.kinds)
	n := []int{2, 2, 3, 3, 3, 4, 4, 5, 6}[r.IntN(9)]
	for i := range n {
		name := fmt.Sprint("site", i)
		s := &site{w: w, n: i, id: engine.SiteID(name), name: engine.SiteName(name), app: newApplication(string(rune('a' + i))),
			forgotten: map[engine.OperationID]bool{}, orphans: map[string]bool{}}
		if w.knobs.skews && w.chance(2) {
			s.skew = time.Duration(r.Int64N(int64(20*time.Second))) - 10*time.Second
		}
		s.disk, s.blobs = memory.NewDisk(s.clock), memory.NewBlobs()
		w.sites = append(w.sites, s)
		w.cut = append(w.cut, make([]bool, n))
	}
	for _, s := range w.sites {
		s.start()
		if err := w.join(s); err != nil {
			w.problem("join: %v", err)
		}
	}
	for range 3 { // until all know all
		w.reconcile()
	}
	for i := range w.knobs.resources {
		res := &resource{tag: fmt.Sprint("r", i), kind: w.kinds[r.IntN(plain)], whole: w.knobs.whole && w.chance(2)}
		for _, i := range r.Perm(n)[:2+r.IntN(n-1)] {
			res.placement = append(res.placement, w.sites[i])
		}
		if res.kind.Natural() {
			res.id = res.tag
		}
		if res.cross = w.knobs.crosses && spread.IntN(3) > 0; res.cross {
			res.twin = len(res.placement) > 2 && spread.IntN(2) == 0
		}
		w.resources = append(w.resources, res)
	}
	if w.knobs.contains {
		w.drawContainers(inside)
	}
}

func (w *world) join(s *site) error {
	record := engine.SiteRecord{Name: s.name, Services: []engine.ServiceName{"model"}}
	first := w.sites[0].now
	if s.n == 0 {
		return first.Found(w.ctx, record)
	}
	i, secret, err := first.Invite(w.ctx, time.Hour, 1)
	if err != nil {
		return err
	}
	e, err := first.Admit(w.ctx, engine.JoinRequest{Invitation: i.ID, Secret: secret, Site: s.id, Record: record})
	if err != nil {
		return err
	}
	if err := s.now.Adopt(w.ctx, e); err != nil {
		return err
	}
	return s.now.Announce(w.ctx, record)
}

func (w *world) siteOf(id engine.SiteID) *site {
	return w.sites[slices.IndexFunc(w.sites, func(s *site) bool { return s.id == id })]
}

func (w *world) anySite() *site { return w.sites[w.rng.IntN(len(w.sites))] }

func (w *world) passes(from, to *site) bool { return !w.cut[from.n][to.n] }

// step lets one thing happen.
func (w *world) step() {
	if w.knobs.backups && w.chance(20) {
		w.restore()
		return
	}
	switch n := w.rng.IntN(100); {
	case n < 26:
		w.ask()
	case n < 54:
		w.work()
	case n < 72:
		w.deliver()
	case n < 80:
		w.pull(w.anySite(), w.anySite(), w.rng.IntN(4))
	case n < 88:
		w.wait()
	case n < 91:
		w.cutOrHeal()
	case n < 94:
		w.disturb()
	case n < 97:
		w.calm()
	default:
		w.operate(w.anySite())
	}
}

// manyMeanwhile bounds what happens during calls in one history: each of them may be a request, with more calls.
const manyMeanwhile = 500

// meanwhile lets other things happen while a call of the process is under way.
func (p *process) meanwhile() {
	w := p.site.w
	if w.depth >= 3 || w.nested > manyMeanwhile || !w.chance(w.knobs.nested) {
		return
	}
	w.depth++
	for range 1 + w.rng.IntN(3) {
		w.nested++
		w.step()
	}
	w.depth--
}

// work does the next job of some site.
func (w *world) work() {
	p := w.anySite().now
	if p == nil || p.deep > 0 { // a job may be for the resource that the call under way is for
		return
	}
	p.enter(func() {
		if p.Step(w.ctx) {
			w.did = true
		}
	})
}

// deliver lets a letter arrive, any of those under way.
func (w *world) deliver() {
	if len(w.wire) == 0 {
		return
	}
	i := w.rng.IntN(len(w.wire))
	l := w.wire[i]
	if !w.chance(w.knobs.again) {
		w.wire = slices.Delete(w.wire, i, i+1)
	}
	if p := l.to.now; p != nil && w.passes(l.from, l.to) {
		w.did = true
		w.tells("letter", "from", l.from, "to", l.to, "document", l.envelope.Document[:6], "changes", len(l.envelope.Changes))
		p.receive(l.from, l.envelope)
	}
}

// receive takes an envelope in, and reports whether something that it builds on is missing.
func (p *process) receive(from *site, e engine.Envelope) (missing bool) {
	p.enter(func() {
		err := p.Receive(p.site.w.ctx, from.id, e)
		missing = errors.Is(err, engine.ErrMissing)
		p.site.expect(err, "receive from "+string(from.name), engine.ErrMissing, engine.ErrNotFound)
	})
	return missing
}

// pull brings the changes that one site lacks and another has, at most about limit of each document; 0: all.
func (w *world) pull(to, from *site, limit int) {
	p, q := to.now, from.now
	if to == from || p == nil || q == nil || !w.passes(from, to) || !w.passes(to, from) {
		return
	}
	mine, err := to.disk.Summaries(w.ctx, from.id, "", "")
	if err != nil {
		w.problem("summaries at %s: %v", to.name, err)
	}
	theirs, err := q.Summaries(w.ctx, to.id, "", "")
	if err != nil { // it has not heard yet that the other is a member
		return
	}
	whole := limit == 0
	for _, d := range theirs {
		if slices.Contains(mine, d) {
			continue
		}
		have, err := p.Version(w.ctx, d.Document)
		if err != nil {
			w.problem("version at %s: %v", to.name, err)
		}
		e, _, err := q.Missing(w.ctx, to.id, d.Document, have, limit)
		if err != nil {
			w.problem("changes at %s: %v", from.name, err)
		}
		if len(e.Changes) == 0 && e.Shown == nil {
			continue
		}
		w.did = true
		w.tells("pull", "from", from, "to", to, "document", d.Document[:6], "changes", len(e.Changes))
		if p.receive(from, e) {
			whole = false // the next comparison finds it
		}
		if p.dead {
			return
		}
	}
	if whole {
		p.Compared(from.id)
		p.met = append(p.met, from)
	}
}

// reconcile lets every site have all that the others have.
func (w *world) reconcile() {
	for _, a := range w.sites {
		for _, b := range w.sites {
			w.pull(a, b, 0)
		}
	}
}

// wait lets time pass.
func (w *world) wait() {
	d := time.Duration(w.rng.Int64N(int64(time.Second)))
	switch w.rng.IntN(12) {
	case 0, 1, 2:
		d *= 20
	case 3:
		d *= 600
	}
	w.now = w.now.Add(d)
}

// expect takes an error as a problem unless it is one of those that may be.
func (s *site) expect(err error, what string, may ...error) {
	if err == nil || s.full || slices.ContainsFunc(may, func(m error) bool { return isA(err, m) }) {
		return
	}
	s.w.problem("%s: %s: %v", s.name, what, err)
}

// operations counts the operations of all documents.
func (w *world) operations() int {
	all := map[engine.OperationID]bool{}
	for _, s := range w.sites {
		for _, o := range s.operations(engine.OperationFilter{}) {
			if o.Document != "" {
				all[o.ID] = true
			}
		}
	}
	return len(all)
}
