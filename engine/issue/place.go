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
	if q.Sites != nil {
		q.Add = q.Sites
		q.Remove = slices.DeleteFunc(slices.Clone(now), func(id engine.SiteID) bool { return slices.Contains(q.Sites, id) })
	}
	c := &engine.PlacementChange{Forced: q.Forced}
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
	switch {
	case slices.ContainsFunc(q.Add, func(id engine.SiteID) bool { return slices.Contains(q.Remove, id) }):
		return refuse("a site is to be added and removed at once")
	case len(c.Add)+len(c.Remove) == 0:
		return nil, nil
	case len(c.Add) == 0 && len(c.Remove) == len(now):
		return refuse("no site would be left for %s %s; delete it instead", v.Kind.Name, v.About.Key)
	case len(c.Add)+len(c.Remove) > engine.MaxPlaced:
		return refuse("at most %d sites change at once", engine.MaxPlaced)
	case len(c.Add) == 0:
		return c, nil
	case v.Mine.Local == "" || v.Me.Bare:
		return nil, &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica", Detail: fmt.Sprintf(
			"%s has no whole replica of %s %s yet; add the site at one that has", v.Name(v.Self), v.Kind.Name, v.About.Key)}
	}
	return c, warnsOfActions(v, q.Forced)
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
	if errors.Is(err, engine.ErrNotFound) || c == nil {
		return nil, nil
	}
	if err == nil {
		err = Held(v.About.Collaboration, q.Parts != nil, v.Kind, v.About.Key)
	}
	return c.Add, err
}

// Held refuses to add sites to a resource that is held together in another way than whoever asks believes.
func Held(c engine.Collaboration, spread bool, k *engine.Kind, id engine.ResourceID) error {
	cross := c == engine.Cross
	if cross == spread {
		return nil
	}
	is, sign := "replicated", "&"
	if cross {
		is, sign = "a cross resource", "%"
	}
	return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(
		"%s %s is %s: write %q between its sites and those that are to be added, or no scope at all", k.Name, id, is, sign)}
}
