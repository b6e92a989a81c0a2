package history

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	enginesite "github.com/skerry/skerry/engine/site"
	"github.com/skerry/skerry/testnet/world"
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
	// Divides says that resources are divided, and made replicated ones again, as they go on.
	Divides bool
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
	Asked        int // questions that a person was asked because a site was set back
	Contended    int // how often, in the end, a resource at a site has lost its name to another
	Virtual      time.Duration
	Problems     []string // what was not as it must be; empty is success
	played       []int    // the steps that did something
}

// knobs are drawn for a history as a whole, so that histories differ: most have few kinds of trouble.
type knobs struct {
	steps     int
	loss      int           // one in so many letters and requests is lost; 0: none
	again     int           // one in so many letters arrives twice; 0: none
	slow      time.Duration // a request to an application takes up to so long; 0: none does
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

// play is one history that is played.
type play struct {
	*world.World
	Options
	log      *slog.Logger
	knobs    knobs
	kinds    []*engine.Kind
	source   rand.PCG
	rng      *rand.Rand // of the step that is played
	did      bool
	settling bool // everything is healed

	sites     []*site
	resources []*resource
	things    []*resource // that lie at one part of a container each
	requests  []*request
	saidDone  map[engine.OperationID]bool // by an operator, who has found that it ran
	deciding  map[question]bool
	emptied   map[emptied]bool

	lost     map[engine.OperationID]bool     // that only a site that was set back had
	nameless map[engine.DocumentID]bool      // resources whose name, which is another's, an operator has given up
	keeps    map[engine.ConflictID]time.Time // when an operator has had a site kept because of it

	decisions, superseded, contended, restored, asked int
}

// site is one of the world, with what the history knows of it.
type site struct {
	*world.Site
	backup    *backup                     // the last one; nil: there is none
	restored  bool                        // that it was set back to one
	forgotten map[engine.OperationID]bool // what it knew before it was set back
	questions map[engine.ConflictID]bool  // that it has asked because of that
	untold    map[string]int              // how often requests of a key had run that nobody knew of then
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
	// revived says that a request that creates it may be done after all, though its client was told that nothing had happened, and has
	// created it otherwise since: that is a resource of its own. Or that it was asked for again at a site that had forgotten its key, or
	// was called there by an identifier that the site had forgotten.
	revived bool
	// removed are sites that were to leave its placement.
	removed []*site
	// id is what clients call it; empty while nobody has been told.
	id string
}

// shares reports whether a site may show a share of what is divided.
func (w *play) shares(r *resource) bool { return r.cross || w.Divides && len(r.kind.Divide) > 0 }

// parts are those that it is created with where it is spread, nil otherwise.
func (r *resource) parts() engine.Parts {
	if !r.cross {
		return nil
	}
	var parts engine.Parts
	for i, s := range r.placement {
		if i == 1 && r.twin {
			parts[0] = append(parts[0], s.ID)
			continue
		}
		parts = append(parts, []engine.SiteID{s.ID})
	}
	return parts
}

// Play plays a history.
func Play(o Options) Report {
	w := &play{Options: o, log: o.Log, saidDone: map[engine.OperationID]bool{}, deciding: map[question]bool{}, emptied: map[emptied]bool{}, lost: map[engine.OperationID]bool{}, nameless: map[engine.DocumentID]bool{}, keeps: map[engine.ConflictID]time.Time{}}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	w.rng = rand.New(&w.source)
	w.seed(0)
	if err := w.draw(); err != nil {
		return Report{Problems: []string{err.Error()}}
	}
	defer w.Close()
	begin := w.Now
	var played []int
	for i := 1; i <= w.knobs.steps && len(w.Problems) == 0; i++ {
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
	r := Report{Steps: w.knobs.steps, Requests: len(w.requests), Decisions: w.decisions, Deaths: w.Deaths, Superseded: w.superseded,
		Restored: w.restored, Asked: w.asked, Contended: w.contended, Virtual: w.Now.Sub(begin), Problems: w.Problems, played: played}
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
func (w *play) seed(n int) { w.source.Seed(w.Seed, uint64(n)) }

// chance is true once in n times; never for 0.
func (w *play) chance(n int) bool { return n > 0 && w.rng.IntN(n) == 0 }

// draw makes the world: its kinds, sites and resources.
func (w *play) draw() error {
	r := w.rng
	w.knobs = knobs{
		steps: 20 + r.IntN(150), cuts: w.chance(2), deaths: w.chance(2), moods: w.chance(2), rejects: w.chance(8), full: w.chance(8),
		skews: w.chance(3), pauses: w.chance(4), holds: w.chance(4), whole: w.chance(3), deletes: w.chance(2), actions: w.chance(2), files: w.chance(4), patches: w.chance(3),
		fields: 1 + r.IntN(4), resources: 1 + r.IntN(4), loss: []int{0, 0, 3, 20}[r.IntN(4)], again: []int{0, 5}[r.IntN(2)],
		slow:  []time.Duration{0, 50 * time.Millisecond, 2 * time.Second}[r.IntN(3)],
		moves: w.chance(4), drops: w.chance(4), rules: w.chance(2), crosses: w.chance(3), large: w.chance(4), contains: w.chance(4),
		backups: w.chance(w.Backups), machines: w.chance(2),
	}
	if w.Divides {
		w.knobs.crosses, w.knobs.moves = true, true
	}
	w.drawKinds()
	n := []int{2, 2, 3, 3, 3, 4, 4, 5, 6}[r.IntN(9)]
	skews := make([]time.Duration, n)
	for i := range skews {
		if w.knobs.skews && w.chance(2) {
			skews[i] = time.Duration(r.Int64N(int64(20*time.Second))) - 10*time.Second
		}
	}
	var err error
	w.World, err = world.New(world.Options{Sites: n, Kinds: w.kinds, Rng: w.rng, Luck: rand.New(rand.NewPCG(w.Seed, 1<<40)), Log: w.log, Limits: w.limits})
	if err != nil {
		return fmt.Errorf("make a world: %w", err)
	}
	w.Loss, w.Latency = w.knobs.loss, w.knobs.slow
	for i, s := range w.World.Sites {
		s.Skew = skews[i]
		w.sites = append(w.sites, &site{Site: s, forgotten: map[engine.OperationID]bool{}, questions: map[engine.ConflictID]bool{},
			untold: map[string]int{}})
		w.noteAlone(w.sites[i])
	}
	for i := range w.knobs.resources {
		res := &resource{tag: fmt.Sprint("r", i), kind: w.kinds[r.IntN(len(w.kinds)-containerKinds(w.knobs.contains))], whole: w.knobs.whole && w.chance(2)}
		for _, i := range r.Perm(n)[:2+r.IntN(n-1)] {
			res.placement = append(res.placement, w.sites[i])
		}
		if res.kind.Natural() {
			res.id = res.tag
		}
		if res.cross = w.knobs.crosses && !w.chance(3); res.cross {
			res.twin = len(res.placement) > 2 && w.chance(2)
		}
		w.resources = append(w.resources, res)
	}
	if w.knobs.contains {
		w.drawContainers(r)
	}
	return nil
}

// drawKinds makes the kinds of a world.
func (w *play) drawKinds() {
	w.kinds = newKinds(w.rng)
	if w.knobs.rules {
		rule(w.kinds, w.rng)
	}
	if w.knobs.crosses {
		for _, k := range w.kinds {
			k.Divide = []engine.Pointer{"/count"}
		}
	}
	if w.knobs.large && w.chance(2) {
		for _, k := range w.kinds {
			k.Content = []engine.Content{{Read: k.Item + "/file", Method: http.MethodPut, Write: k.Item + "/file"}}
		}
	}
	if w.knobs.contains {
		w.kinds = append(w.kinds, newContainers(w.rng)...)
	}
}

// containerKinds is how many of the kinds of a world are of containers and what lies in them.
func containerKinds(there bool) int {
	if there {
		return 2
	}
	return 0
}

// limits are those of all sites.
func (w *play) limits(*world.Site) enginesite.Limits {
	l := enginesite.Limits{
		CallTimeout: 3 * time.Second,
		History:     []int{2, 8, 1000}[w.Seed%3], // some compact early and often
		Epoch:       []int{8, 2, 8, 1000}[w.Seed%4],
		// Some forget what is settled as soon as can be.
		KeepOperations: []time.Duration{0, 0, 5 * time.Second}[w.Seed/2%3],
		Deletions:      engine.DeletionLimits{Late: 365 * 24 * time.Hour}, // nobody is away for so long
	}
	if w.knobs.holds {
		l.Deletions = engine.DeletionLimits{Late: 10 * time.Second, Number: 1}
	}
	return l
}

func (w *play) siteOf(id engine.SiteID) *site {
	return w.sites[slices.IndexFunc(w.sites, func(s *site) bool { return s.ID == id })]
}

func (w *play) anySite() *site { return w.sites[w.rng.IntN(len(w.sites))] }

// step lets one thing happen.
func (w *play) step() {
	if w.knobs.backups && w.chance(20) {
		w.restore()
		return
	}
	switch n := w.rng.IntN(100); {
	case n < 26:
		w.ask()
	case n < 54:
		w.did = w.anySite().Step()
	case n < 72:
		w.deliver()
	case n < 80:
		w.pull()
	case n < 88:
		w.pass()
	case n < 90 && w.Divides:
		w.divide()
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

// deliver lets a letter arrive, any of those under way.
func (w *play) deliver() {
	if n := w.Letters(); n > 0 {
		w.did = true
		w.Deliver(w.rng.IntN(n), w.chance(w.knobs.again))
	}
}

// pull compares two sites.
func (w *play) pull() {
	to, from, limit := w.anySite(), w.anySite(), []int{0, 0, 1, 500}[w.rng.IntN(4)]
	w.did = true
	w.Pull(to.Site, from.Site, limit, limit > 0 && w.chance(2))
}

// pass lets time pass.
func (w *play) pass() {
	d := time.Duration(w.rng.Int64N(int64(time.Second)))
	switch w.rng.IntN(12) {
	case 0, 1, 2:
		d *= 20
	case 3:
		d *= 600
	}
	w.did = true
	w.Now = w.Now.Add(d)
	w.Settle()
}

// expect takes an error as a problem unless it is one of those that may be.
func (w *play) expect(s *site, p *world.Process, err error, what string, may ...error) {
	if err == nil || s.Full || p.Dead() || errors.Is(err, engine.ErrStorage) || slices.ContainsFunc(may, func(m error) bool { return errors.Is(err, m) }) {
		return
	}
	w.Problem("%s: %s: %v", s.Name, what, err)
}

// operations counts the operations of all documents.
func (w *play) operations() int {
	all := map[engine.OperationID]bool{}
	for _, s := range w.sites {
		for _, o := range s.Disk.AllOperations() {
			if o.Document != "" {
				all[o.ID] = true
			}
		}
	}
	return len(all)
}
