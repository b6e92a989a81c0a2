package accept

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
)

// Any stands in a rule for every site, service or kind.
const Any = "*"

// Rule says what some sites may do to resources of some kinds. Of a field that is nil every value fits; of one that is empty, none.
type Rule struct {
	// From is a site's name, a zone's, or Any.
	From   string
	Kinds  []Kind
	Acts   []engine.Act
	Scopes []engine.Collaboration
	// As says with whose rights what they do runs here; empty: with the agent's.
	As engine.As
}

// Kind names a kind of a service. Each may be Any.
type Kind struct{ Service, Name string }

func (k Kind) String() string {
	if k.Service == Any && k.Name == Any {
		return Any
	}
	return k.Service + "/" + k.Name
}

// Sites are those of the mesh. It is safe for concurrent use.
type Sites interface {
	Self() engine.SiteID
	// WasAdmitted reports whether a site is a member, or was one.
	WasAdmitted(id engine.SiteID) bool
	Name(id engine.SiteID) engine.SiteName
	Zones() []engine.Zone
}

// Judge says what this site accepts. It is safe for concurrent use.
type Judge struct {
	// Rules are those of the configuration; nil: there are none, and members may do whatever the catalog describes. With rules or without, a
	// site that no authority has let in may do nothing: a member can place a resource with any key among its sites, and bring what that has signed.
	Rules []Rule
	Sites Sites
}

// Accepts judges what another site wants to do here. The first rule counts that is for that site and that kind, and it alone: what it does
// not let the site do, no later one does.
func (j *Judge) Accepts(w engine.Wish) engine.Acceptance {
	self := j.Sites.Name(j.Sites.Self())
	if w.From == j.Sites.Self() {
		return engine.Acceptance{Accepted: true, As: engine.AsAgent, Reason: "it is its own"}
	}
	if !j.Sites.WasAdmitted(w.From) {
		return engine.Acceptance{Reason: fmt.Sprintf("%s does not accept %s: it has heard of no authority that has let %s into the mesh", self, say(w), j.Sites.Name(w.From))}
	}
	if j.Rules == nil {
		return engine.Acceptance{Accepted: true, As: engine.AsAgent, Reason: fmt.Sprintf("%s has no rules in accept: members may do what its catalog describes", self)}
	}
	from := j.Sites.Name(w.From)
	for n, r := range j.Rules {
		if !r.from(j.Sites, w.From) || !r.kind(w) {
			continue
		}
		a := engine.Acceptance{Accepted: r.lets(w), Rule: n + 1, As: cmp.Or(r.As, engine.AsAgent)}
		if a.Accepted {
			a.Reason = fmt.Sprintf("accept, rule %d (%s)", a.Rule, r)
		} else {
			a.Reason = fmt.Sprintf("%s does not accept %s from %s: accept, rule %d (%s)", self, say(w), from, a.Rule, r)
		}
		return a
	}
	return engine.Acceptance{Reason: fmt.Sprintf("%s does not accept %s from %s: no rule of accept is for it", self, say(w), from)}
}

// Restricts reports whether anything that a site does may not be accepted.
func (j *Judge) Restricts(site engine.SiteID) bool {
	return j.Rules != nil || site != j.Sites.Self() && !j.Sites.WasAdmitted(site)
}

// Checkpoint reports, as an error, that who sends a checkpoint may not have this site make such a resource, or may in the name of those who
// have asked only: what a checkpoint holds nobody but its sender has signed.
func (j *Judge) Checkpoint(from engine.SiteID, of engine.About) error {
	a := j.Accepts(engine.Wish{From: from, Service: of.Service, Kind: of.Kind, Act: engine.ActCreate, Scope: of.Collaboration})
	if a.Accepted && a.As == engine.AsUser {
		return fmt.Errorf("it does not prove who has asked for what: %s", a.Reason)
	}
	if !a.Accepted {
		return errors.New(a.Reason)
	}
	return nil
}

// say says what is wanted, for people.
func say(w engine.Wish) string {
	kind := string(w.Service)
	if w.Kind != "" {
		kind += "/" + string(w.Kind)
	}
	return fmt.Sprintf("%s of %s (%s)", w.Act, kind, w.Scope)
}

func (r Rule) from(sites Sites, id engine.SiteID) bool {
	if r.From == Any || r.From == string(sites.Name(id)) {
		return true
	}
	return slices.ContainsFunc(sites.Zones(), func(z engine.Zone) bool { return string(z.Name) == r.From && slices.Contains(z.Sites, id) })
}

// kind reports whether a rule is for the kind. What an application says of itself belongs to all kinds of its service.
func (r Rule) kind(w engine.Wish) bool {
	return r.Kinds == nil || slices.ContainsFunc(r.Kinds, func(k Kind) bool {
		return (k.Service == Any || k.Service == string(w.Service)) && (k.Name == Any || w.Kind == "" || k.Name == string(w.Kind))
	})
}

func (r Rule) lets(w engine.Wish) bool {
	return (r.Acts == nil || slices.Contains(r.Acts, w.Act)) && (r.Scopes == nil || slices.Contains(r.Scopes, w.Scope))
}

// String says what a rule is for and lets them do, for people.
func (r Rule) String() string {
	text := "from " + r.From
	if r.Kinds != nil {
		text += ", kinds " + list(r.Kinds)
	}
	if r.Acts != nil {
		text += ", operations " + list(r.Acts)
	}
	if r.Scopes != nil {
		text += ", scopes " + list(r.Scopes)
	}
	if r.As != "" {
		text += ", as " + string(r.As)
	}
	return text
}

func list[T any](all []T) string {
	if len(all) == 0 {
		return "none"
	}
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, " ")
}
