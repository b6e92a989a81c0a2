package issue

import (
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

// partsOf are the parts that a request has to be stated, of which q names the sites then; nil: it is not divided in another way than it is.
func partsOf(v *view.View, q *engine.PlaceRequest) (engine.Parts, error) {
	if q.Parts == nil {
		return nil, nil
	}
	q.Sites = slices.Concat(q.Parts...)
	now, spread := v.Placement(), len(q.Parts) > 1
	if is := now.Parts != nil; spread == is && (!is || slices.EqualFunc(q.Parts, now.Parts, samePart)) {
		return nil, nil
	}
	return q.Parts, Divisible(v.Kind, spread, v.About.Key)
}

func samePart(a, b []engine.SiteID) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Held refuses to add sites to a resource that is held together in another way than whoever asks believes.
func Held(cross, spread bool, k *engine.Kind, id engine.ResourceID) error {
	if cross == spread {
		return nil
	}
	is, sign := "replicated", "&"
	if cross {
		is, sign = "a cross resource", "%"
	}
	return scopeType("%s %s is %s: write %q between its sites and those that are to be added, or no scope at all\nhelp: \"skerry resources place\" makes it the other",
		k.Name, id, is, sign)
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

// Growth returns the sites that a request's scope names beyond the placement, sorted. Only what changes the representation adds
// sites.
func Growth(v *view.View, q *engine.Request) ([]engine.SiteID, error) {
	if len(q.Placement) < 2 || q.Method != http.MethodPut && q.Method != http.MethodPatch {
		return nil, nil
	}
	c, err := Change(v, engine.PlaceRequest{Add: q.Placement, Forced: q.Forced})
	if c == nil { // what it is about says why, if it is refused
		return nil, nil
	}
	if err == nil {
		err = Held(v.Placement().Parts != nil, q.Parts != nil, v.Kind, v.About.Key)
	}
	return c.Add, err
}
