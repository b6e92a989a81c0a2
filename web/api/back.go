package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/web/shape"
)

// BringBack returns the request that makes again what a deletion took away: as it was created, with every change since, that of the operation
// among them. Nothing is sent. Sensitive fields are hidden in it: whoever sends it has to fill them in.
func (a *API) BringBack(ctx context.Context, id string) (IssueRequest, error) {
	row, err := a.operationFor(ctx, id, a.Mesh.Self())
	if err != nil {
		return IssueRequest{}, err
	}
	k := a.kind(row.Service, row.Kind)
	if k == nil {
		return IssueRequest{}, refuse(http.StatusUnprocessableEntity, "unknown-service", "this site's catalog has no kind %s.%s any more", row.Service, row.Kind)
	}
	all, next, err := a.Store.Operations(ctx, engine.OperationFilter{Document: row.Document, Limit: 1000})
	if err != nil {
		return IssueRequest{}, fmt.Errorf("list the operations of %s: %w", row.Resource, err)
	}
	made := slices.IndexFunc(all, func(o engine.OperationRow) bool { return o.Type == engine.TypeCreate })
	if row.Document == "" || made < 0 || next != "" {
		return IssueRequest{}, refuse(http.StatusConflict, "forgotten", "how %s was created is not known here any more: make it anew", row.Resource)
	}
	create := all[made]
	body, err := tree.Parse(k, create.Body)
	if create.Blob != nil || err != nil {
		return IssueRequest{}, refuse(http.StatusConflict, "forgotten", "%s was not created from JSON: make it anew", row.Resource)
	}
	for _, o := range slices.Backward(all[:made]) { // oldest first
		var e engine.Edit
		if len(o.Change) == 0 || o.Type == engine.TypeDelete || json.Unmarshal(o.Change, &e) != nil {
			continue
		}
		for _, p := range tree.Sorted(e.Set) {
			body = tree.SetPath(body, p, e.Set[p])
		}
		for _, p := range e.Unset {
			tree.UnsetAt(body, p)
		}
	}
	r := IssueRequest{Service: string(create.Service), Method: create.Method, Scope: create.Scope,
		Path: strings.ReplaceAll(create.Path, "{id}", string(create.Resource))}
	shown, _ := shape.ShowBody(k, tree.Compact(body))
	if r.Body, err = json.MarshalIndent(shown, "", "  "); err != nil {
		return IssueRequest{}, fmt.Errorf("encode %s: %w", row.Resource, err)
	}
	return r, nil
}
