package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// "A ^ B" puts what clients give a name at exactly one of its sites. Its candidates share a document for each name, in which
// there is nothing but their statuses: each says what it holds under the name. Nothing else is replicated: the object is its
// site's, and requests for it are forwarded there.

// Holding tells who holds the name, those that are gone left out.
func (v *View) Holding() map[engine.SiteID]engine.Holding {
	holders := map[engine.SiteID]engine.Holding{}
	for _, s := range v.About.Placement {
		if h := v.At(s).Holding; h != nil && !h.Gone {
			holders[s] = *h
		}
	}
	return holders
}

// Hold says what this site holds under the name: later than all that it knows to hold it.
func Hold(v *View, h engine.Holding) {
	if !h.Gone {
		for site, other := range v.Holding() {
			if site != v.Self {
				h.At = max(h.At, other.At+1)
			}
		}
	}
	v.Me.Holding = &h
	v.Changed()
}

// OwnerOf returns the site that a name belongs to: of those that hold it the one that has held it longest. Empty: none.
func OwnerOf(holders map[engine.SiteID]engine.Holding) engine.SiteID {
	var first engine.SiteID
	for site, h := range holders {
		if first == "" || cmp.Or(cmp.Compare(h.At, holders[first].At), cmp.Compare(site, first)) < 0 {
			first = site
		}
	}
	return first
}

// Claim is what a resource that has its name from clients has to do with that name at this site.
type Claim struct {
	Document engine.DocumentID
	// Born is the create by which it has the name; nil: it does not exist, or is not for this site (any more).
	Born *engine.Operation
	// Object says that its object is, or may be, here.
	Object, Maybe bool
	// Yields says that another resource has the name here.
	Yields bool
	// Going says that its object was deleted and is not known to be gone.
	Going bool
	// Rejoins says that it joins anew: the object may be its.
	Rejoins bool
	// Asks is an operation about which a person is asked here; empty: there is none.
	Asks engine.OperationID
}

// Before reports whether the name is c's rather than d's.
func (c Claim) Before(d Claim) bool {
	return c.Born != nil && d.Born != nil && engine.Compare(c.Born, d.Born) < 0
}

// There reports whether c has, or may have, an object here.
func (c Claim) There() bool { return c.Object || c.Maybe }

// Claim is that of the resource. Maybe says that a request that may have made its object has had no certain answer.
func (v *View) Claim(maybe bool) Claim {
	c := Claim{Document: v.Document, Object: v.Mine.Local != "", Maybe: maybe, Yields: v.Me.Wait(engine.WaitName) != nil, Going: v.Mine.Going.Accepted(), Rejoins: v.Me.Rejoins}
	if v.Part(v.Self) == PartMember && !v.Standing(v.Self).Dropped {
		c.Born = v.History.Born(merge.Any)
	}
	return c
}

// Owner returns the claim that has the name before c, the first of all; nil: c has it.
func (c Claim) Owner(rivals []Claim) *Claim {
	var owner *Claim
	for i := range rivals {
		if rivals[i].Before(c) && (owner == nil || rivals[i].Before(*owner)) {
			owner = &rivals[i]
		}
	}
	return owner
}

// AnyThere reports whether one of some claims has, or may have, an object here.
func AnyThere(claims []Claim) bool { return slices.ContainsFunc(claims, Claim.There) }

// Lives says in words that the object of c is in the way of a resource of the same name that was created earlier.
func (c Claim) Lives(v *View) string {
	who := ""
	if c.Born.User != "" {
		who = " for " + c.Born.User
	}
	return fmt.Sprintf("another %s %s has the object here, which %s created%s at %s, later than this one: either this one "+
		"gets the name and that object is deleted with all that is in it, or that object stays", v.Kind.Name, v.About.Key, v.Name(c.Born.Origin), who, engine.Time(c.Born.Time).UTC().Format(time.RFC3339))
}

// Stays says in words that the object of c, which was deleted, is in the way of a resource of the same name until a person has decided.
func (c Claim) Stays(v *View) string {
	return fmt.Sprintf("an earlier %s %s, which was deleted, has the object here until a person decides about %s: once that is decided this goes on by itself", v.Kind.Name, v.About.Key, c.Asks)
}

// Yielding lists the sites at which another resource has this one's name, as many as one operation removes.
func (v *View) Yielding() []engine.SiteID {
	sites := slices.DeleteFunc(slices.Clone(v.Placement().Sites), func(s engine.SiteID) bool { return !v.Yields(s) })
	return sites[:min(len(sites), engine.MaxPlaced)]
}
