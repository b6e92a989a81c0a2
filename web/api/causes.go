package api

import (
	"context"
	"fmt"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Cause is what several conflicts have in common: one thing that has gone wrong with resources of one kind at one site.
type Cause struct{ About, Site, Service, Kind string }

// CauseOf is what a conflict has in common with others.
func CauseOf(c shape.Conflict) Cause { return Cause{c.About, c.Site, c.Service, c.Kind} }

// conflictsRead is how many conflicts are read at once to count them.
const conflictsRead = 1000

// Causes lists the newest open conflicts, newest first: the first most of all, and of each cause the first few. It counts all there are of each.
func (a *API) Causes(ctx context.Context, most, few int) ([]shape.Conflict, map[Cause]int, error) {
	var items []shape.Conflict
	counts, told := map[Cause]int{}, map[Cause]int{}
	n, t := a.names(), a.teller()
	f := engine.ConflictFilter{Limit: conflictsRead}
	for {
		rows, next, err := a.Store.Conflicts(ctx, f)
		if err != nil {
			return nil, nil, fmt.Errorf("count conflicts by cause: %w", err)
		}
		for _, c := range rows {
			v := n.Conflict(c)
			cause := CauseOf(v)
			counts[cause]++
			if len(items) < most || told[cause] < few {
				v.Label = a.label(ctx, t, c.Document)
				items = append(items, v)
				told[cause]++
			}
		}
		if next == "" {
			return items, counts, nil
		}
		f.Cursor = next
	}
}
