package beside

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// references are those of an operation that it needs: what its body refers to, and the container of what it makes. Within is the
// container, as everybody calls it.
func (r *relations) references(k *engine.Kind, within string, o *engine.Operation) []engine.Target {
	var list []engine.Target
	if c := r.known.Kind(k.Service, k.Within); c != nil && within != "" && o.Type != engine.TypeDelete && o.Type != engine.TypePlace {
		list = append(list, engine.Target{Service: c.Service, Kind: c.Name, ID: engine.ResourceID(c.FromContainer(within))})
	}
	body := o.Body
	if o.Type == engine.TypePatch {
		body = tree.Patched(body)
	}
	for _, to := range tree.RelationsOf(k, within, body) {
		if to.Type != engine.RelationComposition && !slices.Contains(list, to.Target) {
			list = append(list, to.Target)
		}
	}
	return list
}

// whereabouts tells where the resources are that an operation of this site needs: where they are replicated, else where the scope binds
// their service, else here, where the operation runs first.
func (r *relations) whereabouts(ctx context.Context, k *engine.Kind, within string, o *engine.Operation, bound map[engine.ServiceName][]engine.SiteID) []engine.Whereabouts {
	c := r.known.Kind(k.Service, k.Within)
	if c != nil && within != "" {
		if row, ok := r.lookup(ctx, c, c.FromContainer(within)); ok {
			within = c.AsContainer(string(row.ID))
		}
	}
	var list []engine.Whereabouts
	for _, to := range r.references(k, within, o) {
		other := r.known.Kind(to.Service, to.Kind)
		if other == nil || len(list) == engine.MaxWhereabouts {
			continue
		}
		at := engine.Whereabouts{Target: to}
		if row, ok := r.lookup(ctx, other, string(to.ID)); ok {
			at.Sites, at.Replicated = sitesOf(&row), true
		} else if other == c {
			continue // it is each site's own
		} else {
			at.Sites = slices.Clone(bound[to.Service])
		}
		if len(at.Sites) == 0 {
			at.Sites = []engine.SiteID{r.self}
		}
		slices.Sort(at.Sites)
		if len(at.Sites) > engine.MaxWhereabouts { // not all can be told
			at.Sites = at.Sites[:engine.MaxWhereabouts]
		}
		list = append(list, at)
	}
	return list
}

func (r *relations) lookup(ctx context.Context, k *engine.Kind, id string) (engine.ResourceRow, bool) {
	row, err := r.known.Lookup(ctx, k, id)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		r.log.Error("find what an operation refers to", "kind", string(k.Name), "id", id, "err", err)
	}
	return row, err == nil
}

// awaits says which reference of an operation is to be at this site and is not yet: the operation waits for it, and is not sent to be
// refused. It is empty where there is none.
func (r *relations) awaits(ctx context.Context, k *engine.Kind, key engine.ResourceID, o *engine.Operation) string {
	if o.Type == engine.TypeDelete {
		return r.unseen(ctx, k, key, o.Origin)
	}
	within, _ := k.Split(string(key))
	itself := engine.Target{Service: k.Service, Kind: k.Name, ID: key}
	for _, to := range r.references(k, within, o) {
		if why := r.missing(ctx, itself, to, o.Whereabouts); why != "" {
			r.mu.Lock()
			r.await(itself, to)
			r.mu.Unlock()
			return why
		}
	}
	return ""
}

// livesBeside reports whether what lies in a container has an object at a site that has no part in that container: it lives on there.
func livesBeside(owner, inside *engine.ResourceRow) bool {
	for id, st := range inside.Sites {
		if _, has := owner.Sites[id]; !has && st.Local != "" {
			return true
		}
	}
	return false
}

// unseen says what lies in a container at this site that another one, which has deleted the container, has never had.
func (r *relations) unseen(ctx context.Context, k *engine.Kind, key engine.ResourceID, by engine.SiteID) string {
	if !r.mayHold(k) {
		return ""
	}
	owner, err := r.index.ResourceByID(ctx, k.Service, k.Name, key)
	if err != nil {
		return fmt.Sprintf("%s %s cannot be looked up: %v", k.Name, key, err)
	}
	var names []string
	more := 0
	err = r.inside(ctx, k, key, func(row engine.ResourceRow) {
		switch {
		case row.Local == "" || row.State.Past() || row.Sites[by].Applied > 0:
		case livesBeside(&owner, &row):
		case len(names) < maxLacking:
			names = append(names, fmt.Sprintf("%s %s", row.Kind, row.ID))
		default:
			more++
		}
	})
	if err != nil {
		return fmt.Sprintf("what lies in %s %s cannot be looked up: %v", k.Name, key, err)
	}
	if len(names) == 0 {
		return ""
	}
	inside := strings.Join(names, ", ")
	if more > 0 {
		inside += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("it would take along %s, which %s had not seen when it deleted %s %s: either all of that goes as well, or all of it stays here",
		inside, r.name(by), k.Name, key)
}

// missing says that what a resource refers to is to be here and is not yet; empty when that is not so. Two that refer to each other do
// not wait for each other.
func (r *relations) missing(ctx context.Context, from, to engine.Target, told []engine.Whereabouts) string {
	k := r.known.Kind(to.Service, to.Kind)
	if k == nil || from == to {
		return ""
	}
	row, err := engine.ResourceRow{}, engine.ErrNotFound
	if r.known.Replicates(k) {
		row, err = r.index.ResourceByID(ctx, to.Service, to.Kind, to.ID)
	}
	switch {
	case errors.Is(err, engine.ErrNotFound):
		here := func(w engine.Whereabouts) bool {
			return w.Target == to && w.Replicated && slices.Contains(w.Sites, r.self)
		}
		if slices.ContainsFunc(told, here) {
			return fmt.Sprintf("waits for %s %s, which is to be at %s and has not been heard of there yet", to.Kind, to.ID, r.name(r.self))
		}
		return ""
	case err != nil:
		return fmt.Sprintf("waits for %s %s, which cannot be looked up: %v", to.Kind, to.ID, err)
	}
	st, here := row.Sites[r.self]
	if !here || st.State == engine.StateLeaving || row.State.Past() || row.Local != "" || row.GoneAt(r.self) {
		return ""
	}
	if slices.ContainsFunc(row.Relations, func(back engine.Relation) bool { return back.Target == from && back.Type != engine.RelationComposition }) {
		return ""
	}
	return fmt.Sprintf("waits for %s %s, which has no object at %s yet", to.Kind, to.ID, r.name(r.self))
}
