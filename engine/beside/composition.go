package beside

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// composed are those of a resource's references that say what its application has made along with it, and destroys along.
func composed(list []engine.Relation) []engine.Relation {
	var parts []engine.Relation
	for _, to := range list {
		if to.Type == engine.RelationComposition {
			parts = append(parts, to)
		}
	}
	return parts
}

// endOf returns the operation that has ended a resource; nil: it is there, or nobody knows any more.
func endOf(r *replica.Replica) *engine.Operation {
	if r.Exists() {
		return nil
	}
	var ended *engine.Operation
	for _, o := range r.History.Ordered() {
		if o.Type == engine.TypeDelete {
			ended = o
		}
	}
	return ended
}

// destroyAlong deletes what was replicated of what the application has made along with a resource that was deleted, and of what lay in
// it: it is gone at every site, and must not be taken for lost and made anew. One of the sites that have both does it. It reports
// whether something is left to do.
func (r *relations) destroyAlong(ctx context.Context, id engine.DocumentID) (again bool, err error) {
	var ended *engine.Operation
	if err := r.look(ctx, id, func(of *replica.Replica) { ended = endOf(of) }); err != nil || ended == nil {
		return false, err
	}
	owner, err := r.index.ResourceByDocument(ctx, id)
	if err != nil {
		return false, fmt.Errorf("destroy along with document %s: %w", id, err)
	}
	if owner.Local != "" { // it is still to go, or a person is asked
		return false, nil
	}
	for _, part := range composed(owner.Relations) {
		left, err := r.destroyPart(ctx, &owner, part.Target, ended)
		if err != nil {
			return false, fmt.Errorf("destroy %s %s along with %s: %w", part.Kind, part.ID, owner.ID, err)
		}
		again = again || left
	}
	k := r.known.Kind(owner.Service, owner.Kind)
	if k == nil {
		return again, nil
	}
	named, err := r.index.ResourceByID(ctx, owner.Service, owner.Kind, owner.ID)
	switch {
	case errors.Is(err, engine.ErrNotFound): // nobody
	case err != nil:
		return false, fmt.Errorf("find who has the name of %s: %w", owner.ID, err)
	case named.Document != id && !r.gone(&named) && named.CreatedAt.UnixMicro() <= ended.Time:
		return again, nil // another container had the name as well, and lives: what lies under the name is in that one
	}
	err = r.inside(ctx, k, owner.ID, func(target engine.ResourceRow) {
		by, both := r.destroyer(&owner, &target, ended)
		if by != r.self || target.GoneAt(r.self) {
			return
		}
		again = true
		if len(both) < len(target.Sites) { // elsewhere it lies in a container that lives
			r.remove(&owner, &target, both, ended)
		} else {
			r.destroy(&owner, &target, ended)
		}
	})
	if err != nil {
		return false, fmt.Errorf("destroy what lay in %s: %w", owner.ID, err)
	}
	return again, nil
}

// destroyPart has one part destroyed, unless another site does that, or it belongs to another owner by now.
func (r *relations) destroyPart(ctx context.Context, owner *engine.ResourceRow, part engine.Target, ended *engine.Operation) (left bool, err error) {
	k := r.known.Kind(part.Service, part.Kind)
	if k == nil {
		return false, nil
	}
	target, err := r.known.Lookup(ctx, k, string(part.ID))
	if errors.Is(err, engine.ErrNotFound) {
		return false, nil // it was not replicated, or is gone
	}
	if err != nil {
		return false, err
	}
	if by, _ := r.destroyer(owner, &target, ended); by != r.self {
		return false, nil
	}
	others := false
	err = r.list(ctx, engine.ResourceFilter{RefersTo: part}, func(row engine.ResourceRow) {
		others = others || row.Document != owner.Document && !r.gone(&row) &&
			slices.ContainsFunc(composed(row.Relations), func(c engine.Relation) bool { return c.Target == part })
	})
	if err != nil || others {
		return false, err
	}
	r.destroy(owner, &target, ended)
	return true, nil
}

// destroyer tells which site ends what is gone along with its owner, and which have both: none ends what is younger than the owner's
// end, nor what it has never had.
func (r *relations) destroyer(owner, target *engine.ResourceRow, ended *engine.Operation) (by engine.SiteID, both []engine.SiteID) {
	both = slices.DeleteFunc(sitesOf(target), func(id engine.SiteID) bool { _, has := owner.Sites[id]; return !has })
	had := slices.DeleteFunc(slices.Clone(both), func(id engine.SiteID) bool { return target.Sites[id].Applied == 0 })
	switch {
	case target.CreatedAt.UnixMicro() > ended.Time || len(had) == 0:
		return "", both
	case slices.Contains(had, ended.Origin):
		return ended.Origin, both
	}
	return had[0], both
}

// destroy deletes a resource that is gone already.
func (r *relations) destroy(owner, target *engine.ResourceRow, ended *engine.Operation) {
	k := r.known.Kind(target.Service, target.Kind)
	if k == nil || !r.begin(target.Document) {
		return
	}
	within, _ := k.Split(string(target.ID))
	id := target.Document
	r.tell(id, &replica.Ask{Operation: engine.OperationID(r.newID()),
		Request: engine.Request{Kind: k, Type: engine.TypeDelete, Method: http.MethodDelete, Path: k.Item, Target: string(target.ID), Within: within, User: ended.User, Asker: ended.Asker},
		Done: func(g replica.Given) {
			err, a := g.Err, g.Answer
			if err == nil && a.Status >= 300 && a.Status != http.StatusNotFound && a.Status != http.StatusGone {
				err = fmt.Errorf("the application answered %d", a.Status)
			}
			r.end(owner.Document, id, err)
		}})
}

// remove takes a resource away from the sites where its container is no more.
func (r *relations) remove(owner, target *engine.ResourceRow, from []engine.SiteID, ended *engine.Operation) {
	if !r.begin(target.Document) {
		return
	}
	id := target.Document
	r.tell(id, &replica.Decide{What: replica.VerbPlace, Place: engine.PlaceRequest{Remove: from, User: ended.User},
		Done: func(_ engine.OperationID, err error) { r.end(owner.Document, id, err) }})
}

// askedFor is how long a resource that was asked to be no more may take to answer. One that could not be loaded does not answer.
const askedFor = 10 * time.Minute

// begin takes note that a resource is asked to be no more; false: it is asked already.
func (r *relations) begin(id engine.DocumentID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if since, asked := r.asked[id]; asked && now.Sub(since) < askedFor {
		return false
	}
	r.asked[id] = now
	return true
}

// end takes note of the answer. Once all is done the owner is done with.
func (r *relations) end(owner, id engine.DocumentID, err error) {
	r.mu.Lock()
	delete(r.asked, id)
	r.mu.Unlock()
	if err != nil { // it is asked again after a while
		r.log.Error("destroy along with its owner", "document", string(id), "owner", string(owner), "err", err)
		return
	}
	r.due.add(relationKey{ended: owner}, 0)
}

// inside calls each for all that is known to lie in a container, however deep.
func (r *relations) inside(ctx context.Context, k *engine.Kind, id engine.ResourceID, each func(engine.ResourceRow)) error {
	prefix := engine.Inside(k.AsContainer(string(id)), "")
	for _, inner := range r.containedAnywhere(k) {
		if !r.known.Replicates(inner) {
			continue
		}
		err := r.list(ctx, engine.ResourceFilter{Service: inner.Service, Kind: inner.Name, Query: prefix}, func(row engine.ResourceRow) {
			if strings.HasPrefix(string(row.ID), prefix) {
				each(row)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mayHold reports whether anything that is replicated here may lie in a container of a kind.
func (r *relations) mayHold(k *engine.Kind) bool {
	return slices.ContainsFunc(r.containedAnywhere(k), r.known.Replicates)
}

// containedAnywhere lists the kinds of what lies in containers of a kind, however deep.
func (r *relations) containedAnywhere(k *engine.Kind) []*engine.Kind {
	var all []*engine.Kind
	of := []*engine.Kind{k}
	for i := 0; i < len(of); i++ {
		for _, inner := range r.known.Kinds() {
			if inner.Service == of[i].Service && inner.Within == of[i].Name && !slices.Contains(of, inner) {
				all, of = append(all, inner), append(of, inner)
			}
		}
	}
	return all
}

// takeUpContainers is for the start: something may be left of what has lain in a container that was deleted.
func (r *relations) takeUpContainers(ctx context.Context) error {
	seen := map[engine.DocumentID]bool{}
	for _, k := range r.known.Kinds() {
		c := r.known.Kind(k.Service, k.Within)
		if c == nil || !r.known.Replicates(k) { // there may be no container left that lives
			continue
		}
		err := r.list(ctx, engine.ResourceFilter{Service: k.Service, Kind: k.Name}, func(row engine.ResourceRow) {
			container, _ := k.Split(string(row.ID))
			owner, err := r.index.ResourceByID(ctx, c.Service, c.Name, engine.ResourceID(c.FromContainer(container)))
			if err == nil && r.gone(&owner) && !seen[owner.Document] {
				seen[owner.Document] = true
				r.due.add(relationKey{ended: owner.Document}, 0)
			}
		})
		if err != nil {
			return fmt.Errorf("list what lies in containers: %w", err)
		}
	}
	return nil
}
