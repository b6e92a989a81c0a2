package replica

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/flight"
	"github.com/skerry/skerry/engine/hear"
)

// world is some sites, each with an application, and what is under way between them. It has no network, store or goroutine, and its
// clock moves when nothing else is left to do. What happens in it is told line by line.
type world struct {
	now      time.Time
	sites    map[engine.SiteID]*site
	ids      []engine.SiteID // sorted
	cut      map[[2]engine.SiteID]bool
	letters  []letter
	compared map[[2]engine.SiteID]string // what two sites had when they were last compared
	issued   map[engine.SiteID]int
	out      *strings.Builder
}

// letter is on its way to a site.
type letter struct {
	to    engine.SiteID
	about engine.About
	heard *Heard
}

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newWorld(ids ...engine.SiteID) *world {
	w := &world{now: began, sites: map[engine.SiteID]*site{}, ids: ids, cut: map[[2]engine.SiteID]bool{}, compared: map[[2]engine.SiteID]string{},
		issued: map[engine.SiteID]int{}, out: &strings.Builder{}}
	slices.Sort(w.ids)
	for _, id := range ids {
		s := &site{id: id, world: w, disk: map[engine.DocumentID]*stored{}}
		s.app = &app{site: s, objects: map[engine.LocalID]map[string]any{}, bytes: map[string]string{}, pokes: map[engine.LocalID]int{}, ran: map[string]int{}}
		w.sites[id] = s
		s.start()
	}
	return w
}

func (w *world) tell(format string, args ...any) { fmt.Fprintf(w.out, format+"\n", args...) }

// newOperation gives an operation of a site a name that tells whose it is.
func (w *world) newOperation(s engine.SiteID) engine.OperationID {
	w.issued[s]++
	return engine.OperationID(fmt.Sprintf("%s-%d", s, w.issued[s]))
}

func link(a, b engine.SiteID) [2]engine.SiteID { return [2]engine.SiteID{min(a, b), max(a, b)} }

func (w *world) reaches(a, b engine.SiteID) bool {
	return w.sites[a].up && w.sites[b].up && !w.cut[link(a, b)]
}

// send puts a letter on its way; where nobody can be reached it is lost.
func (w *world) send(from engine.SiteID, to []engine.SiteID, about engine.About, h *Heard) {
	for _, s := range to {
		if w.reaches(from, s) {
			w.letters = append(w.letters, letter{s, about, h})
		}
	}
}

// deliver hands over the first letter for a site, or for any where to is empty, from a site, or from any. It reports whether there
// was one.
func (w *world) deliver(to, from engine.SiteID) bool {
	i := slices.IndexFunc(w.letters, func(l letter) bool {
		return (to == "" || l.to == to) && (from == "" || l.heard.From == from)
	})
	if i < 0 {
		return false
	}
	l := w.letters[i]
	w.letters = slices.Delete(w.letters, i, i+1)
	if w.reaches(l.heard.From, l.to) {
		w.sites[l.to].hear(l)
	}
	return true
}

// compare has two sites that can reach each other find out what each lacks, once for what both have. Where that is nothing, they have
// met. It reports whether something has come of it.
func (w *world) compare() bool {
	for i, a := range w.ids {
		for _, b := range w.ids[i+1:] {
			x, y := w.sites[a], w.sites[b]
			if !w.reaches(a, b) {
				continue
			}
			mine, theirs := x.digests(b), y.digests(a)
			if w.compared[link(a, b)] == mine+"|"+theirs {
				continue
			}
			w.compared[link(a, b)] = mine + "|" + theirs
			sent := false
			if mine != theirs {
				sent = x.sendMissing(y)
				sent = y.sendMissing(x) || sent
			}
			if mine != theirs && !sent { // what each has is counted alike, and is not the same
				sent = x.sendTips(y)
				sent = y.sendTips(x) || sent
			}
			if sent {
				return true
			}
			if !x.met[b] || !y.met[a] {
				x.met[b], y.met[a] = true, true
				x.hurry()
				y.hurry()
				return true
			}
		}
	}
	return false
}

// run goes on until nothing is left to do, or so much time has passed.
func (w *world) run(within time.Duration) {
	end := w.now.Add(within)
	for steps := 0; ; steps++ {
		w.restless(steps)
		if w.work() || w.deliver("", "") || w.compare() {
			continue
		}
		at := w.nextWake()
		if at.IsZero() || at.After(end) {
			return
		}
		w.now = later(w.now, at)
	}
}

// restless ends what has taken so many steps that it goes on for ever.
func (w *world) restless(steps int) {
	if steps > 20_000 {
		panic("it does not come to rest:\n" + w.out.String()[max(0, w.out.Len()-4000):])
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// work has one site do one thing. It reports whether there was any.
func (w *world) work() bool {
	for _, id := range w.ids {
		if w.sites[id].work() {
			return true
		}
	}
	return false
}

// nextWake is when the first replica wants to be woken; zero: none does.
func (w *world) nextWake() (first time.Time) {
	for _, id := range w.ids {
		for _, at := range w.sites[id].wakes {
			if first.IsZero() || at.Before(first) {
				first = at
			}
		}
	}
	return first
}

// site is one site's part of package site, as far as replicas need it: it hands them what comes, keeps what is to be kept, and only
// then does what they want done.
type site struct {
	id    engine.SiteID
	world *world
	app   *app
	disk  map[engine.DocumentID]*stored
	// saved is what the disk was when somebody made a backup of it.
	saved map[engine.DocumentID]*stored
	// holdsDeletes: every late deletion waits for a person. full: nothing can be made durable.
	holdsDeletes, full bool

	runs int // that there were

	// The rest is lost in a crash.
	up       bool
	replicas map[engine.DocumentID]*Replica
	inbox    []input
	calls    []call // that have gone out
	held     []call // whose answers are held
	wakes    map[engine.DocumentID]time.Time
	met      map[engine.SiteID]bool
	names    map[engine.ResourceID][]engine.DocumentID // who has taken it, and after that who waits for it
	claimed  map[engine.DocumentID]bool
}

type input struct {
	document engine.DocumentID
	in       Input
}

// call is a call of a replica. Done is its answer, nil: the application has not got it.
type call struct {
	document engine.DocumentID
	asked    *Call
	done     *Answered
}

func (s *site) put(id engine.DocumentID, in Input) { s.inbox = append(s.inbox, input{id, in}) }

func (s *site) documents() []engine.DocumentID { return slices.Sorted(maps.Keys(s.replicas)) }

// hurry wakes all replicas: what they wait for may be over.
func (s *site) hurry() {
	for _, id := range s.documents() {
		s.put(id, &News{Hurry: true})
	}
}

// named is the replica of a resource: of several the one with an object, else the one that exists, else the newest.
func (s *site) named(key string) (best *Replica) {
	rank := func(r *Replica) int {
		switch {
		case r.Mine.Local != "":
			return 2
		case r.Exists():
			return 1
		}
		return 0
	}
	for _, id := range s.documents() {
		r := s.replicas[id]
		if string(r.About.Key) == key && (best == nil || cmp.Or(cmp.Compare(rank(r), rank(best)), cmp.Compare(r.About.Incarnation, best.About.Incarnation)) > 0) {
			best = r
		}
	}
	return best
}

// work does one thing that waits here. It reports whether there was any.
func (s *site) work() bool {
	switch {
	case !s.up:
		return false
	case len(s.inbox) > 0:
		i := s.inbox[0]
		s.inbox = s.inbox[1:]
		s.step(i)
		return true
	case len(s.calls) > 0:
		c := s.calls[0]
		s.calls = s.calls[1:]
		s.ask(c)
		return true
	}
	for _, id := range s.documents() {
		if at, ok := s.wakes[id]; ok && !at.After(s.world.now) {
			delete(s.wakes, id)
			s.put(id, Wake{})
			return true
		}
	}
	return false
}

// rest has the site do what it can by itself.
func (s *site) rest() {
	for steps := 0; s.work(); steps++ {
		s.world.restless(steps)
	}
}

// ask makes a call, or has it held.
func (s *site) ask(c call) {
	in, held := s.app.do(c.asked)
	c.done = in
	s.tellCall(c, held)
	if held {
		s.held = append(s.held, c)
		return
	}
	s.put(c.document, in)
}

// release lets held calls and answers go.
func (s *site) release() {
	held := s.held
	s.held = nil
	for _, c := range held {
		s.letGo(c)
	}
}

// lapse has no answer come to what is held, which is not done.
func (s *site) lapse() {
	held := s.held
	s.held = nil
	for _, c := range held {
		c.done = &Answered{Token: c.asked.Token, Err: errLost}
		s.tellCall(c, false)
		s.letGo(c)
	}
}

func (s *site) letGo(c call) {
	if c.done == nil {
		c.done = &Answered{Token: c.asked.Token}
		s.app.done(c.asked, c.done)
		s.tellCall(c, false)
	}
	if c.document != "" {
		s.put(c.document, c.done)
	}
}

// step is a wake-up for one input.
func (s *site) step(i input) {
	r := s.replicas[i.document]
	if r == nil {
		return
	}
	declared := r.flights()
	out := r.Step(env{s}, i.in)
	out.Given = slices.DeleteFunc(out.Given, func(g GivenTo) bool {
		if g.Given.Early {
			s.tellGiven(g.Given)
		}
		return g.Given.Early
	})
	if !s.commit(r, out, declared) {
		return
	}
	s.carryOut(r, out)
}

// flights names the requests that are in flight.
func (r *Replica) flights() string {
	text := ""
	for _, f := range []*flight.Flight{r.Own, r.Sent} {
		if f != nil {
			text += fmt.Sprintf(" %s %s %s", f.Operation.Type, f.Operation.ID, map[flight.Stage]string{flight.Declared: "declared", flight.Unknown: "unknown", flight.Asked: "asked",
				flight.Again: "again"}[f.Stage])
		}
	}
	return text
}

// commit makes durable what a step wants kept, in one go.
func (s *site) commit(r *Replica, out *Effects, declared string) bool {
	var change *engine.Change
	if len(out.Entries) > 0 {
		e := r.Current()
		tip := e.Tip(r.Line)
		change = newChange(r.Document, e.Number, r.Line, tip, out.Entries)
		e.Wrote(change)
	}
	var told []byte
	if out.Changed && r.Writes(s.id) {
		told, _ = r.TellNews(s.world.now)
	}
	if s.full && (out.Changed || out.Flies || change != nil) {
		s.world.tell("%s: cannot commit, and forgets %s", s.id, s.title(r))
		s.load(r.Document)
		s.inbox = slices.DeleteFunc(s.inbox, func(i input) bool { return i.document == r.Document })
		if s.replicas[r.Document] != nil {
			s.wakes[r.Document] = s.world.now.Add(time.Second)
		}
		return false
	}
	d := s.disk[r.Document]
	if change != nil {
		d.changes = append(d.changes, change)
	}
	if out.Checkpoint != nil {
		d.checkpoint, d.epoch = out.Checkpoint, r.Epochs[0].Number
		d.changes = slices.DeleteFunc(d.changes, func(c *engine.Change) bool { return c.Epoch < d.epoch })
	}
	if h := out.Pass; h != nil {
		d.changes = append(d.changes, h.Changes...)
	}
	if out.Changed || out.Progress || out.Flies || change != nil {
		d.kept, d.statuses = r.Kept(), engine.Encode(r.SignedStatuses())
	}
	s.tellStep(r, change, told, declared)
	if change != nil || told != nil {
		h := &Heard{Said: hear.Said{From: s.id, Epoch: r.Current().Number, First: firstTip(r.About, r.Current().Number)}}
		if change != nil {
			h.Changes = []*engine.Change{change}
		}
		if told != nil {
			h.Statuses = []hear.Status{heardStatus(s.id, told)}
		}
		s.world.send(s.id, r.Others(), r.About, h)
	}
	return true
}

// carryOut does what a step wants done, now that it is durable.
func (s *site) carryOut(r *Replica, out *Effects) {
	id := r.Document
	for _, c := range out.Calls {
		s.calls = append(s.calls, call{id, c, nil})
	}
	for _, g := range out.Given {
		s.tellGiven(g.Given)
	}
	for _, d := range out.Decided {
		s.tellDecided(d)
	}
	for _, other := range out.Others {
		s.put(other, Wake{})
	}
	if !out.Wake.IsZero() {
		if at, ok := s.wakes[id]; !ok || out.Wake.Before(at) {
			s.wakes[id] = out.Wake
		}
	}
	if out.Unfold {
		s.world.tell("%s: takes all operations of %s up again that its checkpoint stands for", s.id, r.About.Key)
		s.unfold(r.Document, r)
	}
	if out.Own || out.Late {
		s.rejoin(r, out.Late)
	}
}

// rejoin begins anew with a replica of which others know more than this site does itself, or where it drops, of which they have let go.
func (s *site) rejoin(old *Replica, drops bool) {
	how := "was set back, and joins %s anew"
	if drops {
		how = "comes late, and takes %s from the others"
	}
	s.world.tell("%s: "+how, s.id, s.title(old))
	left, own := old.Remains(drops), old.Own
	if drops {
		s.runs++
		delete(s.replicas, old.Document)
		s.open(old.About)
	} else {
		s.load(old.Document)
	}
	r := s.replicas[old.Document]
	r.Rejoin(left, own)
	s.disk[old.Document].kept, s.disk[old.Document].statuses = r.Kept(), nil
	clear(s.met)
	delete(s.wakes, old.Document)
}

// line is the one that this run writes.
func (s *site) line() engine.Line {
	if s.runs < 2 {
		return engine.Line(s.id)
	}
	return engine.LineOf(s.id, fmt.Sprint(s.runs))
}

func siteName(id engine.SiteID) engine.SiteName { return engine.SiteName(id) }

var limits = Limits{LookAfter: time.Second, LookEvery: time.Hour, RetryMin: 200 * time.Millisecond, CallTimeout: 30 * time.Second,
	LeaveWithin: 7 * 24 * time.Hour, History: 64, Epoch: 64, MaxBlob: 1 << 20}
