package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
)

// Site is what the records of the mesh say of a site.
type Site struct {
	ID, Name, Version string
	Addresses         []string
	Revoked, Removed  bool
	Until             time.Time // when its certificate ends; zero: never
}

// State is how two sites stand to each other.
type State string

const (
	Direct  State = "direct"
	Relayed State = "relayed"
	Apart   State = "apart"
	Unknown State = "unknown" // neither could be asked
)

// Pair is what is known of two sites.
type Pair struct {
	A         string   `json:"a"`
	B         string   `json:"b"`
	State     State    `json:"state"`
	Relay     string   `json:"relay"`     // its name
	Hole      bool     `json:"hole"`      // of a direct pair: the two have made a hole in their NATs for it
	Transport string   `json:"transport"` // of a relayed pair: to the relay
	RTT       *float64 `json:"rtt_ms"`
	// Causes are why they do not meet, or not without a relay, the first one first to be dealt with. Of a direct pair there is none.
	Causes []Cause `json:"causes"`
	// Help is what to do; one of these is enough where there are several.
	Help  []string  `json:"help"`
	Tries []PairTry `json:"tries"`
}

// Cause is one reason for which two sites do not meet.
type Cause struct {
	Code string `json:"code"`
	Why  string `json:"why"`
}

// PairTry is a try of one of the two.
type PairTry struct {
	From string `json:"from"`
	Try
}

// Causes, as programs see them.
const (
	CauseRevoked      = "revoked"
	CauseExpired      = "expired"
	CauseRehearsal    = "rehearsal"
	CauseStopped      = "stopped"       // a machine answers, and no agent
	CauseSilent       = "silent"        // nothing answers, to anybody
	CauseFirewall     = "firewall"      // it lives, and does not hear the other one
	CauseNAT          = "nat"           // it is behind a NAT and announces nothing
	CauseWrongAddress = "wrong-address" // what it announces does not lead to it
	CauseOtherKey     = "other-key"     // another agent answers there
	CauseNoRoute      = "no-route"
	CauseNoName       = "no-name"
	CauseTurnedAway   = "turned-away"
	CauseVersion      = "version"
	CauseRelayFull    = "relay-full"
	CauseNoPlace      = "no-place" // the relay does not reach the other one
	CauseNoAddress    = "no-address"
	CauseTrying       = "trying"
	CauseOther        = "other"
)

// Mesh is what a diagnosis goes by: all sites, and the views of those that were asked, by peer id.
type Mesh struct {
	Sites []Site
	Views map[string]*View
	Now   time.Time
}

// Pairs tells of each two sites, those that do not meet first; of one site alone, unless it is empty.
func (m *Mesh) Pairs(of string) []Pair {
	pairs := []Pair{}
	sites := slices.SortedFunc(slices.Values(m.Sites), func(x, y Site) int { return cmp.Compare(x.Name, y.Name) })
	for i, a := range sites {
		for _, b := range sites[i+1:] {
			if of == "" || a.ID == of || b.ID == of {
				pairs = append(pairs, m.pair(a, b))
			}
		}
	}
	rank := map[State]int{Apart: 0, Unknown: 1, Relayed: 2, Direct: 3}
	slices.SortStableFunc(pairs, func(x, y Pair) int { return rank[x.State] - rank[y.State] })
	return pairs
}

func (m *Mesh) pair(a, b Site) Pair {
	p := Pair{A: a.Name, B: b.Name, State: Unknown, Causes: []Cause{}, Help: []string{}, Tries: []PairTry{}}
	there, back := m.Views[a.ID].to(b.ID), m.Views[b.ID].to(a.ID)
	for _, w := range []*Way{there, back} {
		if w != nil && w.Reachable && p.State != Direct {
			p.State, p.Transport, p.RTT, p.Relay, p.Hole = Direct, w.Transport, w.RTT, "", w.Hole
			if w.Relay != "" {
				p.State, p.Relay = Relayed, m.name(w.Relay)
			}
		}
	}
	if p.State == Direct {
		return p
	}
	m.tried(&p, a, there)
	m.tried(&p, b, back)
	if p.State != Relayed && (m.Views[a.ID] != nil || m.Views[b.ID] != nil) {
		p.State = Apart
	}
	if p.State == Apart && (m.ended(&p, a) || m.ended(&p, b)) {
		return p
	}
	if p.State == Unknown {
		p.Causes = append(p.Causes, Cause{"not-asked", fmt.Sprintf("neither %s nor %s can be asked from here", a.Name, b.Name)})
		p.Help = append(p.Help, fmt.Sprintf("ask there: skerry sites doctor, with the agent of %s or %s", a.Name, b.Name))
		return p
	}
	m.hindered(&p, a, b, there)
	m.hindered(&p, b, a, back)
	if len(p.Causes) == 0 {
		p.because(CauseTrying, "", "they have lost each other just now, and try again")
	}
	m.throughOthers(&p, a, b, there, back)
	return p
}

// tried lists what one of the two has tried, with names in place of peer ids.
func (m *Mesh) tried(p *Pair, from Site, w *Way) {
	if w == nil {
		return
	}
	for _, t := range w.Tries {
		if t.Relay != "" {
			t.Relay = m.name(t.Relay)
		}
		if t.Other != "" {
			t.Other = m.name(t.Other)
		}
		p.Tries = append(p.Tries, PairTry{from.Name, t})
	}
}

func (p *Pair) because(code, help, format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if !slices.ContainsFunc(p.Causes, func(c Cause) bool { return c.Why == why }) {
		p.Causes = append(p.Causes, Cause{code, why})
	}
	if help != "" && !slices.Contains(p.Help, help) {
		p.Help = append(p.Help, help)
	}
}

// ended says what the records of the mesh have against a site.
func (m *Mesh) ended(p *Pair, s Site) bool {
	switch {
	case s.Revoked:
		p.because(CauseRevoked, fmt.Sprintf("if %s is to come back: begin there with an empty data directory and an invitation", s.Name),
			"the key of %s was revoked: nobody talks to it", s.Name)
	case !s.Until.IsZero() && m.Now.After(s.Until):
		p.because(CauseExpired, fmt.Sprintf("at an authority of the mesh: skerry sites certify %s", s.Name), "the certificate of %s has ended at %s: nobody talks to it", s.Name, s.Until.UTC().Format(time.DateTime))
	default:
		return false
	}
	return true
}

// hindered says why one site does not get to another by itself, as far as its tries tell.
func (m *Mesh) hindered(p *Pair, from, to Site, w *Way) {
	if v := m.Views[from.ID]; v != nil && v.Isolated {
		p.because(CauseRehearsal, fmt.Sprintf("end the rehearsal at %s: on its page Sites, or POST /api/v1/mesh/isolation", from.Name), "%s rehearses a cut", from.Name)
		return
	}
	if w == nil {
		return
	}
	by := map[engine.TryResult][]Try{}
	for _, t := range w.Tries {
		if t.Relay == "" {
			by[t.Result] = append(by[t.Result], t)
		}
	}
	first := func(r engine.TryResult) Try { return by[r][0] }
	announced := []string{}
	if v := m.Views[to.ID]; v != nil {
		announced = v.Announced
	}
	outside := m.outside(to)
	switch {
	case by[engine.TryTurnedAway] != nil:
		p.because(CauseTurnedAway, fmt.Sprintf("look at %s with skerry sites: has it %s, and is its clock right? It may have been removed there, not be known yet, or be cut off for a trial (skerry demo cut)", to.Name, from.Name),
			"the agent of %s closes each connection of %s: it does not take it for a member", to.Name, from.Name)
	case by[engine.TryOtherVersion] != nil:
		p.because(CauseVersion, fmt.Sprintf("bring both to one version: %s has %s, %s has %s", from.Name, from.Version, to.Name, to.Version),
			"the agents of %s and %s do not speak the same protocol", from.Name, to.Name)
	case by[engine.TryNoAddress] != nil:
		p.because(CauseNoAddress, fmt.Sprintf("at %s: set mesh.announce", to.Name), "%s has told %s no address", to.Name, from.Name)
	case by[engine.TryOtherKey] != nil:
		t := first(engine.TryOtherKey)
		p.because(CauseOtherKey, fmt.Sprintf("at %s: correct mesh.announce, or what its NAT passes on: %s has to lead to it", to.Name, t.Address),
			"at %s, where %s is to be, answers %s", t.Address, to.Name, m.name(t.Other))
	case !m.lives(to) && by[engine.TryRefused] != nil:
		p.because(CauseStopped, fmt.Sprintf("at %s: start the agent (systemctl start skerry), and read its log (journalctl -u skerry)", to.Name),
			"the machine of %s answers %s at %s, and no agent listens there: it was stopped, or listens elsewhere", to.Name, from.Name, first(engine.TryRefused).Address)
	case !m.lives(to) && by[engine.TrySilent] != nil:
		p.because(CauseSilent, fmt.Sprintf("see whether the machine of %s runs and has a network; then open %s there, and where it is behind a NAT, announce what that passes on (mesh.announce)", to.Name, portsOf(to.Addresses)),
			"nothing answers at any address of %s, to no site that could be asked", to.Name)
	case len(w.Tries) == 0 || len(by) == 0:
	case outside != "" && len(announced) == 0:
		p.because(CauseNAT, fmt.Sprintf("at %s: have the NAT pass %s on, and set mesh.announce to what others reach, such as /ip4/%s/udp/PORT/quic-v1", to.Name, portsOf(to.Addresses), outside),
			"%s is behind a NAT (others see it at %s) and announces nothing: nobody gets in", to.Name, outside)
	case outside != "" && !m.led(announced, to):
		t := of(w.Tries, announced)
		p.because(CauseWrongAddress, fmt.Sprintf("at %s: correct mesh.announce, or what the NAT passes on; others see it at %s", to.Name, outside),
			"%s announces %s, and %s", to.Name, cmp.Or(t.Address, and(announced)), inWords(t.Result))
	case by[engine.TryNoName] != nil:
		p.because(CauseNoName, fmt.Sprintf("enter the name in DNS, or correct mesh.announce at %s", to.Name), "%s does not find %s in DNS", from.Name, first(engine.TryNoName).Address)
	case by[engine.TrySilent] != nil:
		p.because(CauseFirewall, fmt.Sprintf("let %s in from %s at %s: a firewall in between drops that", portsOf(to.Addresses), from.Name, to.Name),
			"the agent of %s runs, and nothing answers %s at %s", to.Name, from.Name, first(engine.TrySilent).Address)
	case by[engine.TryRefused] != nil:
		p.because(CauseFirewall, fmt.Sprintf("let %s in from %s at %s, and see that mesh.listen has these ports there", portsOf(to.Addresses), from.Name, to.Name),
			"the agent of %s runs, and %s is refused at %s", to.Name, from.Name, first(engine.TryRefused).Address)
	case by[engine.TryNoRoute] != nil:
		p.because(CauseNoRoute, fmt.Sprintf("give %s a route there, or announce at %s what it reaches (mesh.announce)", from.Name, to.Name), "no network leads from %s to %s at %s", from.Name, to.Name, first(engine.TryNoRoute).Address)
	case by[engine.TryFailed] != nil:
		p.because(CauseOther, "", "%s does not get to %s at %s: %s", from.Name, to.Name, first(engine.TryFailed).Address, first(engine.TryFailed).Detail)
	}
}

// of returns what came of the first of some addresses that was tried.
func of(tries []Try, addresses []string) Try {
	for _, t := range tries {
		if t.Relay == "" && slices.Contains(addresses, t.Address) {
			return t
		}
	}
	// A name was tried at the addresses that DNS has for it.
	for _, t := range tries {
		if t.Relay == "" {
			return Try{Result: t.Result}
		}
	}
	return Try{}
}

func inWords(r engine.TryResult) string {
	switch r {
	case engine.TryRefused:
		return "nothing listens there"
	case engine.TryNoRoute:
		return "no network leads there"
	case engine.TryNoName:
		return "DNS does not know that"
	}
	return "nothing answers there"
}

// lives reports whether a site's agent runs: it was asked, or another one reaches it.
func (m *Mesh) lives(s Site) bool {
	if m.Views[s.ID] != nil {
		return true
	}
	for _, v := range m.Views {
		if w := v.to(s.ID); w != nil && w.Reachable {
			return true
		}
	}
	return false
}

// outside is the IP address at which others see a site that is behind a NAT: none that its interfaces have. Empty: it is behind none, as far as
// is known.
func (m *Mesh) outside(s Site) string {
	announced := []string{}
	if v := m.Views[s.ID]; v != nil {
		announced = v.Announced
	}
	for _, id := range slices.Sorted(maps.Keys(m.Views)) {
		w := m.Views[id].to(s.ID)
		if w == nil || !w.Inbound || !ipOf(w.Seen).IsValid() {
			continue
		}
		if !slices.ContainsFunc(s.Addresses, func(a string) bool { return !slices.Contains(announced, a) && ipOf(a) == ipOf(w.Seen) }) {
			return ipOf(w.Seen).String()
		}
	}
	return ""
}

// led reports whether one of the addresses that a site announces has led somebody to it.
func (m *Mesh) led(announced []string, s Site) bool {
	for _, v := range m.Views {
		if w := v.to(s.ID); w != nil && w.Reachable && !w.Inbound && slices.ContainsFunc(announced, func(a string) bool { return ipOf(a).IsValid() && ipOf(a) == ipOf(w.Seen) }) {
			return true
		}
	}
	return false
}

// throughOthers says which member could relay, and why none does where one was tried.
func (m *Mesh) throughOthers(p *Pair, a, b Site, ways ...*Way) {
	if p.State == Relayed {
		return
	}
	for i, w := range ways {
		if w == nil {
			continue
		}
		from, to := a, b
		if i == 1 {
			from, to = b, a
		}
		for _, t := range w.Tries {
			switch {
			case t.Relay == "":
			case t.Result == engine.TryRelayFull:
				p.because(CauseRelayFull, "let another member relay as well (mesh.relay)", "the relay %s has as many connections of %s or %s as it takes", m.name(t.Relay), a.Name, b.Name)
			case t.Result == engine.TryNoPlace && m.lives(to):
				p.because(CauseNoPlace, fmt.Sprintf("see why %s does not reach %s: skerry sites doctor %s", to.Name, m.name(t.Relay), to.Name), "the relay %s has no connection with %s", m.name(t.Relay), to.Name)
			case t.Result == engine.TrySilent && m.lives(to):
				p.because(CauseOther, "", "%s does not get to %s through %s: %s", from.Name, to.Name, m.name(t.Relay), t.Detail)
			}
		}
	}
	if !m.lives(a) || !m.lives(b) || !slices.ContainsFunc(p.Causes, func(c Cause) bool {
		return slices.Contains([]string{CauseNAT, CauseFirewall, CauseWrongAddress, CauseNoRoute}, c.Code)
	}) {
		return
	}
	// Who reaches both could pass on what they have to say to each other.
	var could []string
	for _, s := range m.Sites {
		v := m.Views[s.ID]
		x, y := v.to(a.ID), v.to(b.ID)
		if x == nil || y == nil || !x.Reachable || !y.Reachable || x.Relay != "" || y.Relay != "" {
			continue
		}
		if slices.ContainsFunc(ways, func(w *Way) bool {
			return w != nil && slices.ContainsFunc(w.Tries, func(t Try) bool { return t.Relay == s.ID })
		}) {
			continue // it relays, and was tried
		}
		could = append(could, s.Name)
	}
	if len(could) > 0 {
		slices.Sort(could)
		p.Help = append(p.Help, fmt.Sprintf("or have a member relay that both reach: mesh.relay: true at %s", strings.Join(could, " or ")))
	}
}

// name is what a site is called by people.
func (m *Mesh) name(id string) string {
	for _, s := range m.Sites {
		if s.ID == id {
			return s.Name
		}
	}
	return "the key " + id + ", which is no member"
}
