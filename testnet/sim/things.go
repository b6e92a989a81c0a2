package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/lab"
)

// Thing is something of lab that clients make and use with scopes. Its tag tells its objects apart at every site: it is the name of
// an image, a network, a server or a use, the device of a port, and the identifier of a key.
type Thing struct {
	Tag  string
	Kind engine.KindName
	// Location is what the scope says of the service it belongs to; empty: nothing, and Also says something of another service,
	// or nothing.
	Location string
	Also     string
	In       int    // the network that a port is in, or the key that a use is in
	Name     string // of a port: some have the same
	Image    int    // that a server is made from
	// Moves says that sites are added to it and taken out.
	Moves bool
	// Drawn says that it is drawn already what clients do with it.
	Drawn bool
}

// service is whose listener takes the requests for the thing.
func (t Thing) service() engine.ServiceName {
	switch t.Kind {
	case "image":
		return lab.Images
	case "network", "port":
		return lab.Networks
	}
	return lab.Servers
}

// scope is what a client writes.
func (t Thing) scope() string {
	var bound []string
	if t.Location != "" {
		bound = append(bound, string(t.service())+": "+t.Location)
	}
	if t.Also != "" {
		bound = append(bound, t.Also)
	}
	if bound == nil {
		return ""
	}
	return "{" + strings.Join(bound, ", ") + "}"
}

// mixes are what a schedule may mix, by how it is written.
var mixes = []string{";", "|", "^", "%", "&", "!", "*", "around", "quorum", "sync"}

// Mixed counts what clients mix: the operators that things are placed with, what is inside others, large bodies, and sites that are
// added and taken out.
func (p Plan) Mixed() map[string]int {
	n := map[string]int{}
	for _, t := range p.Things {
		for _, m := range mixes {
			if strings.Contains(t.Location, m) {
				n[m]++
			}
		}
		if t.In > 0 {
			n["inside"]++
		}
		if t.Image > 0 {
			n["workflows"]++
		}
	}
	for _, s := range p.Steps {
		switch s.Kind {
		case StepFile:
			n["files"]++
		case StepAdd, StepRemove:
			n["moves"]++
		}
	}
	return n
}

func (t Thing) String() string {
	return fmt.Sprintf("%s: %s %q %s (in %d, image %d, moves: %t)", t.Tag, t.Kind, t.Name, t.scope(), t.In, t.Image, t.Moves)
}

// How things of a kind are placed. A, B and C stand for three sites, west for a zone of the first two.
var (
	replicated = []string{"A & B", "A & B & C", "*", "!A", "west", "quorum(A & B & C)", "sync(A & B)"}
	shared     = []string{"A", "A ; B", "A | B", "around(A, 40ms)", "(A ^ B) ; C", "A ; B & C"}
	spread     = []string{"A % B", "A % B % C", "(A & B) % C", "C % (A & B)"}
	exactly    = []string{"A ^ B", "A ^ B ^ C"}
	// nonsense is refused before anything runs.
	nonsense = []string{"(A % B) & C", "quorum(A % B)", "A % A", "A ;", "atlantis", "sync(A | B)", "around(A, -1ms)", "!", "A % (B % C)", "!(A ; B)"}
)

// anyOf draws a form and fills in sites.
func (p *Plan) anyOf(r *rand.Rand, forms ...string) string {
	order := r.Perm(p.Sites)
	name := func(i int) string { return fmt.Sprint("site", order[i]) }
	return strings.NewReplacer("A", name(0), "B", name(1), "C", name(2)).Replace(forms[r.IntN(len(forms))])
}

// NewPlanOfThings draws a plan in which the sites run lab, and clients mix the operators.
func NewPlanOfThings(seed uint64, most int) Plan {
	r := rand.New(rand.NewPCG(seed, 3))
	p := Plan{Seed: seed, Sites: anySize(r, most), Lasts: time.Duration(20+r.IntN(50)) * time.Second}
	p.drawSkews(r, 4, 2*time.Second)
	p.drawThings(r)
	for i := range p.Things[1:] {
		if !p.Things[i+1].Drawn {
			p.use(r, i+1)
		}
	}
	for range 3 + r.IntN(8) {
		p.Steps = append(p.Steps, Step{At: p.moment(r), Kind: StepNonsense, Site: r.IntN(p.Sites), Field: p.anyOf(r, nonsense...)},
			Step{At: p.moment(r), Kind: StepList, Site: r.IntN(p.Sites), Resource: r.IntN(len(p.Things))})
	}
	for range r.IntN(7) {
		p.disturbNetwork(r)
	}
	for range r.IntN(2 * p.Sites) {
		p.disturbSite(r)
	}
	slices.SortStableFunc(p.Steps, func(a, b Step) int { return int(a.At - b.At) })
	return p
}

// drawThings draws what is made. The first is an image that every site has before anything goes wrong.
func (p *Plan) drawThings(r *rand.Rand) {
	add := func(t Thing) int {
		t.Tag = fmt.Sprint("t", len(p.Things))
		p.Things = append(p.Things, t)
		return len(p.Things) - 1
	}
	add(Thing{Kind: "image", Location: "*"})
	for range 3 + r.IntN(4) {
		add(Thing{Kind: "image", Location: p.anyOf(r, replicated...), Moves: r.IntN(4) == 0})
		add(Thing{Kind: []engine.KindName{"image", "network"}[r.IntN(2)], Location: p.anyOf(r, shared...)})
	}
	for range 1 + r.IntN(2) { // what a scope does not bind, and what has none
		add(Thing{Kind: "network", Also: "images: " + p.anyOf(r, "A & B", "A", "*")})
		add(Thing{Kind: "image"})
	}
	for range 1 + r.IntN(3) {
		form := spread[r.IntN(len(spread))]
		order := r.Perm(p.Sites)
		in := strings.NewReplacer("A", fmt.Sprint("site", order[0]), "B", fmt.Sprint("site", order[1]), "C", fmt.Sprint("site", order[2]))
		network := add(Thing{Kind: "network", Location: in.Replace(form)})
		p.contend(r, order[0], order[1], add(Thing{Kind: "port", In: network, Name: "same", Drawn: true}), add(Thing{Kind: "port", In: network, Name: "same", Drawn: true}))
		for range 2 + r.IntN(5) {
			forms := []string{"", "", "A", "B", "A & B", "A ; B", "A | B", "sync(B)"}
			if strings.Contains(form, "C") {
				forms = append(forms, "C", "A & C", "A & B & C")
			}
			add(Thing{Kind: "port", In: network, Location: in.Replace(forms[r.IntN(len(forms))]), Name: []string{"web", "web", "db", "dhcp-1"}[r.IntN(4)]})
		}
	}
	for range 1 + r.IntN(3) {
		add(Thing{Kind: "server", Location: p.anyOf(r, spread...), Also: p.anyOf(r, "", "images: A"), Moves: r.IntN(3) == 0})
		key := add(Thing{Kind: "key", Location: p.anyOf(r, exactly...)})
		for range r.IntN(3) { // what lies inside is where it is
			add(Thing{Kind: "use", Location: p.Things[key].Location, In: key})
		}
	}
	for range r.IntN(3) { // a workflow: the image is at one site, the server at another
		order := r.Perm(p.Sites)
		image := add(Thing{Kind: "image", Location: fmt.Sprint("site", order[0])})
		add(Thing{Kind: "server", Location: fmt.Sprint("site", order[1]), Also: fmt.Sprint("images: site", order[0]), Image: image})
	}
}

// contend has two sites give one name inside a container while one of them is cut off.
func (p *Plan) contend(r *rand.Rand, a, b, first, second int) {
	var links [][2]int
	for i := range p.Sites {
		if i != a {
			links = append(links, [2]int{a, i}, [2]int{i, a})
		}
	}
	at := p.Lasts/2 + time.Duration(r.Int64N(int64(p.Lasts)/4))
	p.Steps = append(p.Steps, Step{At: at, Kind: StepCut, Links: links},
		Step{At: at + time.Second, Kind: StepCreate, Resource: first, Site: a}, Step{At: at + 2*time.Second, Kind: StepCreate, Resource: second, Site: b},
		Step{At: at + 5*time.Second, Kind: StepJoin, Links: links})
}

// use draws what clients do with a thing.
func (p *Plan) use(r *rand.Rand, i int) {
	t := p.Things[i]
	step := func(kind StepKind, at time.Duration) Step {
		return Step{At: at, Kind: kind, Resource: i, Site: r.IntN(p.Sites), Scoped: r.IntN(2) == 0}
	}
	early := time.Duration(r.Int64N(int64(p.Lasts) / 2))
	if t.Kind == "network" || p.workflow(i) {
		early /= 4
	}
	p.Steps = append(p.Steps, step(StepCreate, early))
	if t.Kind == "key" { // several want the same
		for range 1 + r.IntN(3) {
			p.Steps = append(p.Steps, step(StepCreate, early+time.Duration(r.Int64N(int64(p.Lasts)/4))))
		}
	}
	later := func() time.Duration { return early + time.Duration(r.Int64N(int64(p.Lasts-early))) }
	for range r.IntN(5) {
		kind := StepPatch
		switch {
		case t.Kind == "image" && r.IntN(3) == 0:
			kind = StepFile
		case t.Kind == "server" && r.IntN(3) == 0:
			kind = StepIncr
		}
		p.Steps = append(p.Steps, step(kind, later()), step(StepRead, later()))
	}
	if t.Kind != "network" && !p.workflow(i) && r.IntN(5) == 0 {
		p.Steps = append(p.Steps, step(StepDelete, later()))
	}
	if t.Moves {
		for _, kind := range []StepKind{StepAdd, StepRemove}[:1+r.IntN(2)] {
			s := step(kind, later())
			s.Other = r.IntN(p.Sites)
			p.Steps = append(p.Steps, s)
		}
	}
}

// workflow reports whether a thing is an image that a server of another site is made from.
func (p *Plan) workflow(i int) bool {
	return slices.ContainsFunc(p.Things, func(t Thing) bool { return t.Image == i && i > 0 })
}
