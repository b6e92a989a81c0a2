package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
)

// ForceActions is what a caller says to add sites though actions have run whose effect nothing brings to them.
const ForceActions = "actions"

// PlaceRequest asks for a change of where a resource lives.
type PlaceRequest struct {
	// Sites is the whole placement; nil: Add and Remove say what is different.
	Sites, Add, Remove []SiteID
	// Forced says that added sites may lack what undeclared actions have done.
	Forced bool
	User   string
}

// Place changes where a resource lives: a removal from a placement, an addition to it, or both. It is durable here when Place
// returns and takes no other site to be reached; the added sites make the object when they hear of it, the removed ones apply
// what they know from before and leave theirs to itself. The identifier is empty when nothing is different. ErrNotFound: there
// is no such document here; a *Refusal where the caller is to be told.
func (s *Site) Place(ctx context.Context, id DocumentID, q PlaceRequest) (OperationID, error) {
	for _, site := range slices.Concat(q.Sites, q.Add) {
		if !s.IsMember(site) || s.Removed(site) {
			return "", &Refusal{Status: http.StatusUnprocessableEntity, Type: "unknown-site", Detail: fmt.Sprintf("site %s is no member of the mesh", site)}
		}
	}
	for _, site := range q.Remove {
		if !s.wasAdmitted(site) {
			return "", &Refusal{Status: http.StatusUnprocessableEntity, Type: "unknown-site", Detail: fmt.Sprintf("site %s is no member of the mesh", site)}
		}
	}
	r, v, unlock, err := s.locked(ctx, id)
	defer unlock()
	if err != nil {
		return "", err
	}
	change, err := v.change(q)
	if change == nil || err != nil {
		return "", err
	}
	o := &Operation{ID: OperationID(s.cfg.NewID()), Type: TypePlace, Place: change, User: q.User}
	s.stamp(v, o)
	encoded, err := o.Encode()
	if err != nil {
		return "", fmt.Errorf("place %s: %w", v.about.Key, err)
	}
	entries := []Entry{{Map: MapOperations, Key: o.Key(), Value: encoded}, s.replicaEntry(v, v.local(), o)}
	err = s.write(ctx, r, append(entries, s.sharedAnew(v, o)...), &Batch{})
	if err != nil {
		return "", fmt.Errorf("place %s: %w", v.about.Key, err)
	}
	s.queue.add(job{document: id}, 0) // this site may be one of those removed
	return o.ID, nil
}

// change turns a request into the change that it amounts to here; nil when nothing is different.
func (v *view) change(q PlaceRequest) (*PlacementChange, error) {
	switch {
	case v.part(v.self) != partMember:
		return nil, ErrNotFound
	case !v.exists():
		return nil, &Refusal{Status: http.StatusNotFound, Type: "gone", Detail: fmt.Sprintf("%s %s was deleted", v.about.Kind, v.about.Key)}
	}
	now := v.placement().Sites
	if q.Sites != nil {
		q.Add = q.Sites
		q.Remove = slices.DeleteFunc(slices.Clone(now), func(id SiteID) bool { return slices.Contains(q.Sites, id) })
	}
	c := &PlacementChange{Forced: q.Forced}
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
	switch {
	case slices.ContainsFunc(q.Add, func(id SiteID) bool { return slices.Contains(q.Remove, id) }):
		return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "placement", Detail: "a site is to be added and removed at once"}
	case len(c.Add)+len(c.Remove) == 0:
		return nil, nil
	case len(c.Add) == 0 && len(c.Remove) == len(now):
		return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "placement",
			Detail: fmt.Sprintf("no site would be left for %s %s; delete it instead", v.about.Kind, v.about.Key)}
	case len(c.Add)+len(c.Remove) > maxPlaced:
		return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "placement", Detail: fmt.Sprintf("at most %d sites change at once", maxPlaced)}
	}
	if len(c.Add) == 0 {
		return c, nil
	}
	if v.local() == "" || v.replica(v.self).Bare {
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Type: "no-replica",
			Detail: fmt.Sprintf("%s has no whole replica of %s %s yet; add the site at one that has", v.name(v.self), v.about.Kind, v.about.Key)}
	}
	return c, v.warnsOfActions(q.Forced)
}

// warnsOfActions refuses to add sites to a resource on which actions have run that nothing brings to them.
func (v *view) warnsOfActions(forced bool) error {
	if forced || len(v.kind.Content) > 0 {
		return nil
	}
	for _, o := range v.history.Living(anyOperation) {
		if o.Blob != nil && !v.needsBlob(o) {
			return &Refusal{Status: http.StatusConflict, Type: ForceActions, Detail: fmt.Sprintf(
				"%s has put %s into %s %s, which every site has got and none keeps: an added site would begin without it; nothing has happened\n"+
					"help: declare content in the catalog, or send Skerry-Force: %s", o.Path, Bytes(o.Blob.Size), v.about.Kind, v.about.Key, ForceActions)}
		}
		if o.Type == TypeAction && o.Change == nil {
			return &Refusal{Status: http.StatusConflict, Type: ForceActions, Detail: fmt.Sprintf(
				"%s has run on %s %s and the catalog does not say what that does, nor where its content is: an added site would begin without it; "+
					"nothing has happened\nhelp: declare content or the operation's effect in the catalog, or send Skerry-Force: %s",
				o.Path, v.about.Kind, v.about.Key, ForceActions)}
		}
	}
	return nil
}

// growth returns the sites that a request's scope names beyond a resource's placement, sorted. Only what changes the
// representation adds sites.
func (s *Site) growth(ctx context.Context, res *resource, r Request) ([]SiteID, error) {
	if len(r.Placement) < 2 || r.Method != http.MethodPut && r.Method != http.MethodPatch {
		return nil, nil
	}
	res.mu.Lock()
	defer res.mu.Unlock()
	v, err := s.open(ctx, res)
	if err != nil {
		return nil, err
	}
	c, err := v.change(PlaceRequest{Add: r.Placement, Forced: r.Forced})
	if errors.Is(err, ErrNotFound) || c == nil {
		return nil, nil
	}
	if cross := v.history.spread != nil; err == nil && cross != (r.Parts != nil) {
		is, sign := "replicated", "&"
		if cross {
			is, sign = "a cross resource", "%"
		}
		return nil, &Refusal{Status: http.StatusUnprocessableEntity, Type: "scope-type", Detail: fmt.Sprintf(
			"%s %s is %s: write %q between its sites and those that are to be added, or no scope at all", v.about.Kind, v.about.Key, is, sign)}
	}
	return c.Add, err
}

// grow makes the placement operation that goes before an operation whose scope has named more sites. Both are published as
// one, and o has seen the first. The caller holds res.mu.
func (s *Site) grow(v *view, c *crossing) *Operation {
	add := slices.DeleteFunc(slices.Clone(c.Grows), v.placement().Has)
	if len(add) == 0 {
		return nil
	}
	p := &Operation{ID: c.Placing, Type: TypePlace, Place: &PlacementChange{Add: add, Forced: c.Forced}, User: c.Operation.User, Scope: c.Operation.Scope}
	s.stamp(v, p)
	o := &c.Operation
	s.stamp(v, o)
	o.Seq, o.Time = p.Seq+1, max(o.Time, p.Time+1)
	return p
}
