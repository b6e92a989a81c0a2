package typing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
)

// lacking notes which of the sites that run the request have no replica of what it will refer to. Nobody is asked: what is
// not replicated here is taken to be where the scope binds its service, or else where the request runs first.
func (c *Checker) lacking(ctx context.Context, r Request, relations []engine.Relation, out *Result) error {
	for _, to := range relations {
		k := c.Kind(to.Service, to.Kind)
		if k == nil || to.Type == engine.RelationComposition || len(out.Lacking)+len(out.Warnings) >= maxChecked {
			continue
		}
		if c.Visibility(k).Scope == glue.VisibilityLocal {
			continue // those who may have it are asked, and it is an error where one has none
		}
		row, err := c.Resources.Lookup(ctx, k, string(to.ID))
		if err != nil && !errors.Is(err, engine.ErrNotFound) {
			return fmt.Errorf("find %s %s: %w", k.Name, to.ID, err)
		}
		var with []engine.SiteID
		for id, st := range row.Sites {
			if st.State != engine.StateLeaving {
				with = append(with, id)
			}
		}
		what := fmt.Sprintf("%s %s (%s) has no replica at ", to.Kind, to.ID, to.At)
		if err != nil {
			what = fmt.Sprintf("%s %s (%s) is not replicated: it is not at ", to.Kind, to.ID, to.At)
			if with = r.Bound(to.Service); len(with) == 0 {
				if len(r.Sites) == 1 {
					continue
				}
				with = c.hereFirst(slices.Clone(r.Sites))[:1]
			}
		}
		lack := c.names(without(r.Sites, with...))
		if len(lack) == 0 {
			continue
		}
		slices.Sort(lack)
		what += strings.Join(lack, ", ")
		if to.Type == engine.RelationReliance {
			out.Lacking = append(out.Lacking, what+", where it will be relied on")
		} else {
			out.Warnings = append(out.Warnings, what+", where it will be needed")
		}
	}
	return nil
}
