package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// Plan is all that happens in one schedule. The same seed and options give the same plan.
type Plan struct {
	Seed  uint64
	Sites int
	Skews []time.Duration // of each site's clock
	// Apart are two sites that never meet once the schedule begins: what one of them does reaches the other through a third. Both
	// ways of the link; nil: all meet.
	Apart [][2]int
	// History and Epoch are those of site.Limits: most schedules compact early. Zero: as agents do.
	History, Epoch int
	Resources      []Resource
	Things         []Thing // in the place of Resources: the sites run lab then
	Steps          []Step  // by time
	Lasts          time.Duration
}

// Resource is one that clients know of. Tag tells its objects apart at every site.
type Resource struct {
	Tag       string
	Kind      *engine.Kind
	Placement []int // in the beginning
	// Moves says that sites are added to the placement and removed from it. What becomes of it is asked of the sites.
	Moves bool
	// Whole says that clients also put whole representations, which may end fields that their author did not know.
	Whole bool
}

// StepKind is what a Step does.
type StepKind string

// What a Step may do. Create, patch, json, put, delete and the actions start, open, shut and incr are requests of a client; add,
// remove, pause and resume are an operator's.
const (
	StepCreate   StepKind = "create"
	StepPatch    StepKind = "patch"
	StepJSON     StepKind = "json" // a JSON Patch
	StepPut      StepKind = "put"
	StepStart    StepKind = "start"
	StepOpen     StepKind = "open"
	StepShut     StepKind = "shut"
	StepIncr     StepKind = "incr"
	StepDelete   StepKind = "delete"
	StepFile     StepKind = "file"     // puts the file of an image
	StepRead     StepKind = "read"     // reads a thing
	StepList     StepKind = "list"     // lists the things of a kind
	StepNonsense StepKind = "nonsense" // asks with a scope, Field, that makes none
	StepAdd      StepKind = "add"      // Other is to have a replica of Resource
	StepRemove   StepKind = "remove"   // Other is to have none any more
	StepPause    StepKind = "pause"    // Site leaves its replica of Resource as it is
	StepResume   StepKind = "resume"   // that ends
	StepClock    StepKind = "clock"    // the clock at Site is set to be off by Down
	StepCut      StepKind = "cut"      // Links drop everything
	StepJoin     StepKind = "join"     // Links pass everything
	StepLoss     StepKind = "loss"     // a Share of all packets is lost
	StepMood     StepKind = "mood"     // the application at Site is in Mood
	StepRestart  StepKind = "restart"  // the agent at Site stops, and is started after Down
	StepKill     StepKind = "kill"     // the agent at Site dies now, and is started after Down
	StepDoom     StepKind = "doom"     // it dies with its Count-th commit, or request to the application, After or before it
)

// Step happens At a time after the beginning.
type Step struct {
	At       time.Duration
	Kind     StepKind
	Site     int
	Other    int
	Resource int
	Field    string // that a client sets, beside the one of its own request
	Disk     string // that it changes or adds, where the kind has disks; empty: none
	Scoped   bool   // the client names the placement
	Links    [][2]int
	Share    float64
	Mood     Mood
	Down     time.Duration
	Count    int
	Request  bool // it dies with a request to the application
	After    bool
}

func (s Step) String() string {
	text := fmt.Sprintf("%8.3fs %s", s.At.Seconds(), s.Kind)
	switch s.Kind {
	case StepCut, StepJoin:
		return fmt.Sprintf("%s %v", text, s.Links)
	case StepLoss:
		return fmt.Sprintf("%s %.2f", text, s.Share)
	case StepMood:
		return fmt.Sprintf("%s site%d %+v", text, s.Site, s.Mood)
	case StepRestart, StepKill, StepClock:
		return fmt.Sprintf("%s site%d for %v", text, s.Site, s.Down)
	case StepDoom:
		return fmt.Sprintf("%s site%d at %d (request: %t, after: %t) for %v", text, s.Site, s.Count, s.Request, s.After, s.Down)
	}
	switch s.Kind {
	case StepAdd, StepRemove:
		return fmt.Sprintf("%s site%d of r%d at site%d", text, s.Other, s.Resource, s.Site)
	case StepPause, StepResume:
		return fmt.Sprintf("%s r%d at site%d", text, s.Resource, s.Site)
	}
	return fmt.Sprintf("%s r%d at site%d (field %q, scoped: %t)", text, s.Resource, s.Site, s.Field, s.Scoped)
}

// String tells the plan line by line.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d sites, clocks %v, apart %v, history %d, epochs of %d\n", p.Seed, p.Sites, p.Skews,
		p.Apart, p.History, p.Epoch)
	for _, r := range p.Resources {
		fmt.Fprintf(&b, "%s: %s at %v (whole: %t, moves: %t)\n", r.Tag, r.Kind.Name, r.Placement, r.Whole, r.Moves)
	}
	for _, t := range p.Things {
		fmt.Fprintln(&b, t)
	}
	for _, s := range p.Steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// anySize draws how many sites a plan has: most are small.
func anySize(r *rand.Rand, most int) int {
	n := 3
	switch luck := r.IntN(100); {
	case luck < 70:
		n += r.IntN(3)
	case luck < 92:
		n += 3 + r.IntN(4)
	case luck < 98:
		n += 7 + r.IntN(6)
	default:
		n += 13 + r.IntN(15)
	}
	return min(n, max(most, 3))
}

// drawSkews sets the clock of one site in every so many up to most ahead or behind.
func (p *Plan) drawSkews(r *rand.Rand, every int, most time.Duration) {
	p.Skews = make([]time.Duration, p.Sites)
	for i := range p.Skews {
		if r.IntN(every) == 0 {
			p.Skews[i] = time.Duration(r.Int64N(int64(2*most))) - most
		}
	}
}

// NewPlan draws a plan for 3 to most sites, at most 30.
func NewPlan(seed uint64, most int) Plan {
	r := rand.New(rand.NewPCG(seed, 0))
	p := Plan{Seed: seed, Sites: anySize(r, most), Lasts: time.Duration(20+r.IntN(70)) * time.Second}
	p.drawSkews(r, 3, 5*time.Second)
	if r.IntN(4) == 0 {
		p.Apart = [][2]int{{0, 1}, {1, 0}}
	}
	p.History, p.Epoch = []int{0, 2, 8, 2}[seed%4], []int{0, 4, 8, 16}[seed%4]
	// In some schedules agents die again and again while an application that ignores Idempotency-Keys works for them.
	fatal := r.IntN(4) == 0
	kinds := kinds
	if fatal {
		kinds = []*engine.Kind{image, label, rack}
	}
	for i := range 2 + r.IntN(10) {
		p.Resources = append(p.Resources, Resource{
			Tag: fmt.Sprint("r", i), Kind: kinds[r.IntN(len(kinds))], Whole: r.IntN(3) == 0,
			Placement: subset(r, p.Sites, 2+r.IntN(p.Sites-1)),
		})
	}
	for i := range p.Resources {
		if held := p.Resources[i].Placement; p.Apart != nil && slices.Contains(held, 0) && slices.Contains(held, 1) && len(held) == 2 {
			p.Resources[i].Placement = append(held, 2)
		}
	}
	if fatal {
		for n := range 4 * p.Sites {
			p.Steps = append(p.Steps, Step{At: p.moment(r), Kind: StepDoom, Site: n % p.Sites, Count: 1 + r.IntN(3), Request: true, After: r.IntN(3) > 0,
				Down: time.Duration(r.Int64N(int64(5 * time.Second)))})
			p.Steps = append(p.Steps, p.request(r, StepStart, r.IntN(len(p.Resources)), p.moment(r)))
		}
	}
	if r.IntN(3) == 0 {
		for i := range p.Resources {
			p.move(r, i)
		}
	}
	for range r.IntN(3) {
		p.pause(r)
	}
	for range r.IntN(3) {
		p.Steps = append(p.Steps, Step{At: p.moment(r), Kind: StepClock, Site: r.IntN(p.Sites), Down: time.Duration(r.Int64N(int64(10*time.Second))) - 5*time.Second})
	}
	for i := range p.Resources { // most are made early
		p.Steps = append(p.Steps, p.request(r, StepCreate, i, time.Duration(r.Int64N(int64(p.Lasts)/4))))
	}
	for range 20 + r.IntN(60) {
		i := r.IntN(len(p.Resources))
		p.Steps = append(p.Steps, p.request(r, anyRequest(r, p.Resources[i].Kind), i, p.moment(r)))
	}
	for range r.IntN(5) { // clients that want the same thing at nearly the same time
		at, i := p.moment(r), r.IntN(len(p.Resources))
		for range 2 + r.IntN(6) {
			p.Steps = append(p.Steps, p.request(r, anyRequest(r, p.Resources[i].Kind), i, at+time.Duration(r.IntN(200))*time.Millisecond))
		}
	}
	for range r.IntN(8) {
		p.disturbNetwork(r)
	}
	for range r.IntN(3 * p.Sites) {
		p.disturbSite(r)
	}
	slices.SortStableFunc(p.Steps, func(a, b Step) int { return int(a.At - b.At) })
	return p
}

func (p *Plan) moment(r *rand.Rand) time.Duration { return time.Duration(r.Int64N(int64(p.Lasts))) }

func subset(r *rand.Rand, n, size int) []int {
	s := r.Perm(n)[:size]
	slices.Sort(s)
	return s
}

func anyRequest(r *rand.Rand, k *engine.Kind) StepKind {
	if declares(k) && r.IntN(3) == 0 {
		return []StepKind{StepOpen, StepShut, StepIncr, StepIncr}[r.IntN(4)]
	}
	switch n := r.IntN(100); {
	case n < 8:
		return StepCreate
	case n < 40:
		return StepPatch
	case n < 55:
		return StepJSON
	case n < 77:
		return StepPut
	case n < 92 && !declares(k): // what an undeclared action has run on is not made anew when a change reverses its delete
		return StepStart
	case n < 92:
		return StepPatch
	}
	return StepDelete
}

// move adds sites to the placement of a resource and removes at most one. What a removed site keeps would be in the way of
// another object of the same name, so no name that clients choose moves.
func (p *Plan) move(r *rand.Rand, i int) {
	res := &p.Resources[i]
	if res.Kind.Natural() || p.Apart != nil || r.IntN(2) == 0 {
		return
	}
	res.Moves = true
	for _, other := range r.Perm(p.Sites)[:min(p.Sites, 3)] {
		kind := StepAdd
		if slices.Contains(res.Placement, other) {
			if kind = StepRemove; len(res.Placement) < 3 || slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Kind == StepRemove && s.Resource == i }) {
				continue
			}
		}
		p.Steps = append(p.Steps, Step{At: p.moment(r), Kind: kind, Resource: i, Other: other, Site: res.Placement[r.IntN(len(res.Placement))]})
	}
}

// pause lets a site leave a replica as it is for a while.
func (p *Plan) pause(r *rand.Rand) {
	i := r.IntN(len(p.Resources))
	held := p.Resources[i].Placement
	s := Step{At: p.moment(r), Kind: StepPause, Resource: i, Site: held[r.IntN(len(held))]}
	until := s
	until.Kind, until.At = StepResume, s.At+time.Duration(r.Int64N(int64(30*time.Second)))
	p.Steps = append(p.Steps, s, until)
}

func (p *Plan) request(r *rand.Rand, kind StepKind, resource int, at time.Duration) Step {
	res := p.Resources[resource]
	// A request for what was deleted waits until every site of the placement has said that it is gone.
	if kind == StepStart && declares(res.Kind) {
		kind = StepIncr
	}
	if kind == StepPut && !res.Whole || kind == StepDelete && p.Apart != nil {
		kind = StepPatch
	}
	s := Step{At: at, Kind: kind, Resource: resource, Site: res.Placement[r.IntN(len(res.Placement))], Field: string(rune('a' + r.IntN(4))),
		Scoped: r.IntN(2) == 0, Disk: []string{"p", "q", "r", ""}[r.IntN(4)]}
	if r.IntN(5) == 0 && p.Apart == nil {
		s.Site = r.IntN(p.Sites)
	}
	switch {
	case kind == StepCreate:
		s.Scoped = true
	case res.Moves, p.Apart != nil:
		// The scope would say where it is to be; and a request for what a site has not heard of waits for all sites to say
		// that they have not either, which two that never meet cannot.
		s.Scoped = false
	case !slices.Contains(res.Placement, s.Site):
		s.Scoped = true
	}
	return s
}

// disturbNetwork adds a cut of some kind that ends, or a loss of packets.
func (p *Plan) disturbNetwork(r *rand.Rand) {
	at, lasts := p.moment(r), time.Duration(r.Int64N(int64(30*time.Second)))
	var links [][2]int
	between := func(a, b []int) {
		for _, i := range a {
			for _, j := range b {
				if i != j {
					links = append(links, [2]int{i, j}, [2]int{j, i})
				}
			}
		}
	}
	order := r.Perm(p.Sites)
	switch r.IntN(7) {
	case 6:
		p.swizzle(r, at, lasts)
		return
	case 0: // one site alone
		between(order[:1], order[1:])
	case 1: // two parts
		n := 1 + r.IntN(p.Sites-1)
		between(order[:n], order[n:])
	case 2: // one link
		between(order[:1], order[1:2])
	case 3: // one link one way
		links = [][2]int{{order[0], order[1]}}
	case 4: // a flapping link
		between(order[:1], order[1:])
		for end := at + lasts; at < end; at += time.Duration(1+r.IntN(4000)) * time.Millisecond {
			p.Steps = append(p.Steps, Step{At: at, Kind: StepCut, Links: links})
			at += time.Duration(1+r.IntN(4000)) * time.Millisecond
			p.Steps = append(p.Steps, Step{At: at, Kind: StepJoin, Links: links})
		}
		return
	case 5:
		p.Steps = append(p.Steps, Step{At: at, Kind: StepLoss, Share: r.Float64() / 5}, Step{At: at + lasts, Kind: StepLoss})
		return
	}
	p.Steps = append(p.Steps, Step{At: at, Kind: StepCut, Links: links}, Step{At: at + lasts, Kind: StepJoin, Links: links})
}

// swizzle cuts off some sites, one after the other, and joins them in another order: while that lasts nearly every division into
// those that meet and those that do not comes up. FoundationDB's simulation calls it by this name.
func (p *Plan) swizzle(r *rand.Rand, at, lasts time.Duration) {
	some := r.Perm(p.Sites)[:1+r.IntN(p.Sites)]
	for _, kind := range []StepKind{StepCut, StepJoin} {
		r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		for _, i := range some {
			var links [][2]int
			for j := range p.Sites {
				if i != j {
					links = append(links, [2]int{i, j}, [2]int{j, i})
				}
			}
			at += lasts / time.Duration(2*len(some))
			p.Steps = append(p.Steps, Step{At: at, Kind: kind, Links: links})
		}
	}
}

// disturbSite adds a bad time of one site's application or agent.
func (p *Plan) disturbSite(r *rand.Rand) {
	s := Step{At: p.moment(r), Site: r.IntN(p.Sites), Down: time.Duration(r.Int64N(int64(15 * time.Second)))}
	switch r.IntN(8) {
	case 0:
		s.Kind = StepRestart
	case 1:
		s.Kind = StepKill
	case 2, 3:
		s.Kind, s.Count, s.After = StepDoom, 1+r.IntN(20), r.IntN(2) == 0
	case 4, 5:
		s.Kind, s.Count, s.Request, s.After = StepDoom, 1+r.IntN(5), true, r.IntN(2) == 0
	default:
		s.Kind = StepMood
		switch r.IntN(3) {
		case 0:
			s.Mood.Down = true
		case 1:
			s.Mood.Refuses = r.Float64()
		default:
			s.Mood = Mood{Refuses: r.Float64() / 4, Fails: r.Float64() / 4, DoesSilent: r.Float64() / 4, Hangs: r.Float64() / 10}
		}
		p.Steps = append(p.Steps, Step{At: s.At + s.Down, Kind: StepMood, Site: s.Site})
	}
	p.Steps = append(p.Steps, s)
}
