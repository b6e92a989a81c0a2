package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Found says where a resource was that an operation refers to, as far as its origin knew. It is recorded of what not every
// site of the operation shares: those cannot look it up.
type Found struct {
	Target
	Sites []SiteID `json:"sites"` // sorted, at least one
}

// maxFound is the most resources that one operation tells the whereabouts of, and the most sites of each.
const maxFound = 64

func validFound(list []Found) error {
	if len(list) > maxFound {
		return fmt.Errorf("the whereabouts of %d resources", len(list))
	}
	for _, f := range list {
		if len(f.Sites) == 0 || len(f.Sites) > maxFound || !slices.IsSorted(f.Sites) ||
			slices.ContainsFunc(f.Sites, func(id SiteID) bool { return id == "" || len(id) > maxSiteID }) {
			return fmt.Errorf("the whereabouts of %s %s at %d sites", f.Kind, f.ID, len(f.Sites))
		}
	}
	return nil
}

// whereabouts tells where the resources are that an operation of this site refers to: where they are replicated, else where the scope
// binds their service, else here, where the operation runs first.
func (s *Site) whereabouts(ctx context.Context, k *Kind, within string, o *Operation, bound map[ServiceName][]SiteID) ([]Found, error) {
	body := o.Body
	if o.Type == TypePatch {
		body = Patched(body)
	}
	var found []Found
	for _, r := range RelationsOf(k, within, body) {
		other := s.known.Load().by[kindKey{r.Service, r.Kind}]
		if other == nil || r.Type == RelationComposition || len(found) == maxFound {
			continue
		}
		var sites []SiteID
		switch row, err := s.Lookup(ctx, other, string(r.ID)); {
		case err == nil:
			sites = others(row, "")
		case !errors.Is(err, ErrNotFound):
			return nil, fmt.Errorf("find %s %s: %w", r.Kind, r.ID, err)
		default:
			sites = slices.Clone(bound[r.Service])
		}
		if len(sites) == 0 {
			sites = []SiteID{s.cfg.Self}
		}
		slices.Sort(sites)
		found = append(found, Found{r.Target, sites[:min(len(sites), maxFound)]})
	}
	return found, nil
}

// whereabouts collects where the operations for which in is true say that resources are: the last word of each, and of those named
// last as many as one operation can tell.
func (h *History) whereabouts(in func(*Operation) bool) []Found {
	seen := map[Target]bool{}
	var list []Found
	tell := func(found []Found) {
		for _, f := range found {
			if !seen[f.Target] && len(list) < maxFound {
				seen[f.Target] = true
				list = append(list, f)
			}
		}
	}
	for _, o := range slices.Backward(h.ordered) {
		if in(o) && !h.base.has(o) {
			tell(o.Found)
		}
	}
	if h.base != nil {
		tell(h.base.Found)
	}
	return list
}
