package issue

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/compact"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/view"
)

// Change turns a request into the change that it amounts to here; nil when nothing is different.
func Change(v *view.View, q engine.PlaceRequest) (*engine.PlacementChange, error) {
	switch {
	case v.Part(v.Self) != view.PartMember:
		return nil, engine.ErrNotFound
	case !v.Exists():
		return nil, &engine.Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %s was deleted", v.Kind.Name, v.About.Key)}
	}
	now := v.Placement().Sites
	parts, err := partsOf(v, &q)
	if err != nil {
		return nil, err
	}
	if q.Sites != nil {
		q.Add = q.Sites
		q.Remove = slices.DeleteFunc(slices.Clone(now), func(id engine.SiteID) bool { return slices.Contains(q.Sites, id) })
	}
	c := &engine.PlacementChange{Forced: q.Forced, Parts: parts}
	for _, id := range q.Add {
		if !slices.Contains(now, id) {
			c.Add = append(c.Add, id)
		}
	}
	for _, id := range q.Remove {
		if slices.Contains(now, id) {
			c.Remove = append(c.Remove, id)
		}
	}
	slices.Sort(c.Add)
	slices.Sort(c.Remove)
	c.Add, c.Remove = slices.Compact(c.Add), slices.Compact(c.Remove)
	refuse := func(format string, args ...any) (*engine.PlacementChange, error) {
		return nil, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "placement", Detail: fmt.Sprintf(format, args...)}
	}
	adds := len(c.Add) > 0
	if parts != nil {
		c.Add = slices.Sorted(slices.Values(slices.Concat(parts...)))
	}
	switch {
	case slices.ContainsFunc(q.Add, func(id engine.SiteID) bool { return slices.Contains(q.Remove, id) }):
		return refuse("a site is to be added and removed at once")
	case len(c.Add)+len(c.Remove) == 0:
		return nil, nil
	case len(c.Add) == 0 && len(c.Remove) == len(now):
		return refuse("no site would be left for %s %s; delete it instead", v.Kind.Name, v.About.Key)
	case len(c.Add)+len(c.Remove) > engine.MaxPlaced:
		return refuse("at most %d sites change at once", engine.MaxPlaced)
	case !adds:
		return c, nil
	case v.Mine.Local == "" || v.Me.Bare:
		return nil, &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica", Detail: fmt.Sprintf(
			"%s has no whole replica of %s %s yet; add the site at one that has", v.Name(v.Self), v.Kind.Name, v.About.Key)}
	}
	return c, warnsOfActions(v, q.Forced)
}

// partsOf are the parts that a request has to be stated; nil: it is not divided in another way than it is. Of a request that says how all is
// divided q names the sites then.
func partsOf(v *view.View, q *engine.PlaceRequest) (engine.Parts, error) {
	now, spread := v.Placement(), len(q.Parts) > 1
	is := now.Parts != nil
	switch {
	case q.Parts == nil:
		return nil, nil
	case q.Add == nil:
		q.Sites = slices.Concat(q.Parts...)
		if spread == is && (!is || slices.EqualFunc(q.Parts, now.Parts, samePart)) {
			return nil, nil
		}
	case spread == is:
		return nil, nil
	case slices.ContainsFunc(now.Sites, func(id engine.SiteID) bool { return !slices.Contains(q.Add, id) }):
		return nil, unnamed(v, q.Add)
	}
	return q.Parts, Divisible(v.Kind, spread, v.About.Key)
}

func samePart(a, b []engine.SiteID) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// unnamed refuses to add sites to a resource by a scope that says that it is divided in another way, and does not name all of its sites.
// Without sites to be added nothing is said of how it is divided: nil.
func unnamed(v *view.View, sites []engine.SiteID) error {
	now := v.Placement()
	if !slices.ContainsFunc(sites, func(id engine.SiteID) bool { return !now.Has(id) }) {
		return nil
	}
	is, sign := "replicated", "&"
	if now.Parts != nil {
		is, sign = "a cross resource", "%"
	}
	return scopeType("%s %s is %s: write %q between its sites and those that are to be added, or name all of its sites, to make it something else; nothing has happened",
		v.Kind.Name, v.About.Key, is, sign)
}

// Divisible refuses to make a resource that is there a cross one, or a replicated one again, where its parts would not be like each other then.
func Divisible(k *engine.Kind, spread bool, id engine.ResourceID) error {
	switch {
	case k.Contains:
		return scopeType("%s %s may have others inside it, each in one part: how it is divided stays as it is; nothing has happened\nhelp: make another one, and delete this one", k.Name, id)
	case spread && len(k.Content) > 0:
		return scopeType("%s %s has content beside it, which is not divided; nothing has happened\nhelp: create it with a scope that spreads it", k.Name, id)
	}
	return nil
}

func scopeType(format string, args ...any) error {
	return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(format, args...)}
}

// Placing is the operation that changes a placement.
func Placing(id engine.OperationID, c *engine.PlacementChange, user string) *engine.Operation {
	o := &engine.Operation{ID: id, Type: engine.TypePlace, Place: c, User: user}
	if c.Parts != nil {
		o.Method = engine.MethodDivide
	}
	return o
}

// warnsOfActions refuses to add sites to a resource on which actions have run that nothing brings to them.
func warnsOfActions(v *view.View, forced bool) error {
	if forced || len(v.Kind.Content) > 0 {
		return nil
	}
	for _, o := range v.History.Living(merge.Any) {
		if o.Blob != nil && !compact.NeedsBlob(v, o) {
			return &engine.Refusal{Status: http.StatusConflict, Type: engine.ForceActions, Detail: fmt.Sprintf(
				"%s has put %d bytes into %s %s, which every site has got and none keeps: an added site would begin without it; nothing has happened\n"+
					"help: declare content in the catalog, or send Skerry-Force: %s", o.Path, o.Blob.Size, v.Kind.Name, v.About.Key, engine.ForceActions)}
		}
		if o.Type == engine.TypeAction && o.Edit == nil {
			return &engine.Refusal{Status: http.StatusConflict, Type: engine.ForceActions, Detail: fmt.Sprintf(
				"%s has run on %s %s and the catalog does not say what that does, nor where its content is: an added site would begin without it; "+
					"nothing has happened\nhelp: declare content or the operation's effect in the catalog, or send Skerry-Force: %s",
				o.Path, v.Kind.Name, v.About.Key, engine.ForceActions)}
		}
	}
	return nil
}

// Growth returns what a request's scope does to where the resource lives; nil: nothing. Only what changes the representation does so. A scope
// that asks for agreement has no cross in it, so it says nothing of how a cross resource is divided.
func Growth(v *view.View, q *engine.Request) (*engine.PlacementChange, error) {
	if len(q.Placement) < 2 || q.Method != http.MethodPut && q.Method != http.MethodPatch {
		return nil, nil
	}
	p := engine.PlaceRequest{Add: q.Placement, Parts: q.Parts, Forced: q.Forced}
	switch {
	case p.Parts != nil:
	case q.Agreement != engine.AgreeOne && v.Placement().Parts != nil:
		return nil, unnamed(v, q.Placement)
	default:
		p.Parts = engine.Parts{q.Placement}
	}
	c, err := Change(v, p)
	var refusal *engine.Refusal
	if c == nil && !(errors.As(err, &refusal) && refusal.Type == "scope-type") { // what it is about says why, if it is refused
		return nil, nil
	}
	return c, err
}
