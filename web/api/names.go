package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/skerry/skerry/engine"
)

// least is how many characters of an identifier are enough to look for what begins so.
const least = 4

// rowsByName finds the resource that people call so, or whose identifier begins so: whoever types one knows a name, or has the beginning of
// what a table shows. None of them is an error; several are one, which lists them.
func (a *API) rowsByName(ctx context.Context, ref ResourceRef) ([]engine.ResourceRow, error) {
	rows, _, err := a.Store.Resources(ctx, engine.ResourceFilter{Query: ref.ID, Service: engine.ServiceName(ref.Service), Kind: engine.KindName(ref.Kind), Limit: 1000})
	if err != nil {
		return nil, fmt.Errorf("look up resource %s: %w", ref.ID, err)
	}
	var named, begin []engine.ResourceRow
	for _, r := range rows {
		switch {
		case r.Label == ref.ID:
			named = append(named, r)
		case len(ref.ID) >= least && strings.HasPrefix(string(r.ID), ref.ID):
			begin = append(begin, r)
		}
	}
	if len(named) == 0 {
		named = begin
	}
	if len(named) < 2 {
		return named, nil
	}
	several := &ambiguous{}
	var words []string
	for _, r := range named {
		several.candidates = append(several.candidates, Candidate{string(r.ID), string(r.Service), string(r.Kind)})
		words = append(words, fmt.Sprintf("%s %s", r.Kind, r.ID))
	}
	several.refusal = refuse(http.StatusConflict, "ambiguous", "%q names several resources (%s): pick one by its identifier", ref.ID, strings.Join(words, ", "))
	return nil, several
}

// conflictByPrefix finds the conflict whose identifier begins so; engine.ErrNotFound: there is none.
func (a *API) conflictByPrefix(ctx context.Context, id string) (found engine.Conflict, err error) {
	err = engine.ErrNotFound
	if len(id) < least {
		return found, err
	}
	for _, accepted := range []bool{false, true} {
		for f := (engine.ConflictFilter{Accepted: accepted, Limit: 1000}); ; {
			list, next, failed := a.Store.Conflicts(ctx, f)
			if failed != nil {
				return found, failed
			}
			for _, c := range list {
				switch {
				case !strings.HasPrefix(string(c.ID), id):
				case err == nil:
					return found, refuse(http.StatusConflict, "ambiguous", "%q begins several conflicts, %s and %s among them: give more of it", id, found.ID, c.ID)
				default:
					found, err = c, nil
				}
			}
			if f.Cursor = next; next == "" {
				break
			}
		}
	}
	return found, err
}

// leastOfOperation is as much of an identifier of an operation as is looked for: it begins with the time, so that less than this many
// characters begin those of hours.
const leastOfOperation = 8

// operationByPrefix finds the operation whose identifier begins so; engine.ErrNotFound: there is none.
func (a *API) operationByPrefix(ctx context.Context, id string) (engine.OperationRow, error) {
	if len(id) < leastOfOperation {
		return engine.OperationRow{}, engine.ErrNotFound
	}
	rows, _, err := a.Store.Operations(ctx, engine.OperationFilter{Begins: strings.ToLower(id), Limit: 2})
	switch {
	case err != nil:
		return engine.OperationRow{}, err
	case len(rows) == 0:
		return engine.OperationRow{}, engine.ErrNotFound
	case len(rows) > 1:
		return engine.OperationRow{}, refuse(http.StatusConflict, "ambiguous", "%q begins several operations, %s and %s among them: give more of it", id, rows[0].ID, rows[1].ID)
	}
	return rows[0], nil
}
