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
// among them. Of a change it is the request that sets again what was there before. Nothing is sent. Sensitive fields are hidden in it:
// whoever sends it has to fill them in.
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
		if o.ID == row.ID && o.Type != engine.TypeDelete {
			if now, err := a.row(ctx, ResourceRef{string(row.Resource), string(row.Service), string(row.Kind)}); err == nil && now.Document == row.Document && !now.State.Past() {
				return before(k, row, body)
			}
		}
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

// before is the request that sets again what was at the fields that an operation has changed. Body is what there was before it.
func before(k *engine.Kind, row engine.OperationRow, body any) (IssueRequest, error) {
	var e engine.Edit
	if len(row.Change) == 0 || json.Unmarshal(row.Change, &e) != nil || !k.MergePatch {
		return IssueRequest{}, refuse(http.StatusConflict, "forgotten", "what %s %s has changed cannot be told field by field", row.Type, row.ID)
	}
	var patch any = map[string]any{}
	for _, p := range slices.Concat(tree.Sorted(e.Set), e.Unset) {
		if tree.IsContainer(e.Set[p]) { // what is in it has fields of its own
			continue
		}
		was := json.RawMessage("null")
		if v, ok := tree.ValueAt(body, p); ok {
			was = tree.Compact(v)
		}
		patch = tree.SetPath(patch, p, was)
	}
	shown, _ := shape.ShowBody(k, tree.Compact(patch))
	text, err := json.MarshalIndent(shown, "", "  ")
	if err != nil {
		return IssueRequest{}, fmt.Errorf("encode %s: %w", row.Resource, err)
	}
	method, media := tree.MergeForm(k)
	return IssueRequest{Service: string(row.Service), Method: method, Path: itemPath(k, row.Resource), Headers: map[string]string{"Content-Type": media}, Body: text}, nil
}
