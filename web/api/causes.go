package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Causes groups what waits for a person, the worst first, each with the newest.
func (a *API) Causes(ctx context.Context) ([]shape.Cause, error) {
	counts, err := a.Counter.CountConflicts(ctx)
	if err != nil {
		return nil, err
	}
	causes := make([]shape.Cause, 0, len(counts))
	t := a.teller()
	for c, of := range counts {
		newest, err := a.Store.Conflict(ctx, of.Newest)
		if errors.Is(err, engine.ErrNotFound) { // it has been decided meanwhile
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look up the newest conflict of a cause: %w", err)
		}
		causes = append(causes, t.Cause(c, of.Number, a.conflict(ctx, t, newest)))
	}
	worst := func(c shape.Cause) int { return slices.Index(shape.ConflictKinds, engine.ConflictKind(c.About)) }
	slices.SortFunc(causes, func(a, b shape.Cause) int {
		return cmp.Or(cmp.Compare(worst(a), worst(b)), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Kind, b.Kind))
	})
	return causes, nil
}

// Cause is what several decisions have in common, with the newest of them, newest first: at least one.
type Cause struct {
	shape.Cause
	Items []shape.Conflict
}

// Decisions are the causes with their newest conflicts: the first most of all, and of each cause the first few.
func (a *API) Decisions(ctx context.Context, most, few int) ([]Cause, error) {
	causes, err := a.Causes(ctx)
	if err != nil {
		return nil, err
	}
	newest, err := a.Conflicts(ctx, ConflictQuery{Limit: most})
	if err != nil {
		return nil, err
	}
	list := make([]Cause, 0, len(causes))
	for _, c := range causes {
		items, err := a.newestOf(ctx, c, newest.Items, few)
		if err != nil {
			return nil, err
		}
		if len(items) > 0 { // else they have been decided meanwhile
			list = append(list, Cause{c, items})
		}
	}
	return list, nil
}

// newestOf picks the conflicts of a cause from a list. Where there are not even few of them, that many are looked for.
func (a *API) newestOf(ctx context.Context, c shape.Cause, list []shape.Conflict, few int) ([]shape.Conflict, error) {
	of := func(x shape.Conflict) bool {
		return x.About == c.About && x.Site == c.Site && x.Service == c.Service && x.Kind == c.Kind
	}
	var items []shape.Conflict
	for _, x := range list {
		if of(x) {
			items = append(items, x)
		}
	}
	if len(items) >= min(few, c.Decisions) {
		return items, nil
	}
	items = nil
	for q := (ConflictQuery{About: c.About, Service: c.Service}); ; { // its site may have no name here
		page, err := a.Conflicts(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, x := range page.Items {
			if of(x) && len(items) < few {
				items = append(items, x)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" || len(items) == few {
			return items, nil
		}
	}
}

// decisionsAt counts what waits for a person, by site.
func (a *API) decisionsAt(ctx context.Context) (map[engine.SiteID]int, error) {
	counts, err := a.Counter.CountConflicts(ctx)
	at := map[engine.SiteID]int{}
	for c, n := range counts {
		at[c.Site] += n.Number
	}
	return at, err
}

// holdings lists what sites hold of deletions, by site and where they were asked for.
func (a *API) holdings(ctx context.Context) ([]shape.Holding, error) {
	counts, err := a.Counter.CountHeld(ctx)
	if err != nil {
		return nil, err
	}
	list, n := make([]shape.Holding, 0, len(counts)), a.names()
	for at, deletions := range counts {
		list = append(list, n.Holding(at[0], at[1], deletions))
	}
	slices.SortFunc(list, func(a, b shape.Holding) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Origin, b.Origin))
	})
	return list, nil
}
