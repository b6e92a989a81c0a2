package desk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
)

const (
	// maxListed is how many objects of a list are looked at, maxCandidates how many of them are named.
	maxListed     = 2000
	maxCandidates = 20
)

// Candidates lists the objects of this site's application that a create may have made of which that is not known, or that may be adopted
// for it: what has most of what it sets first. Replicas of resources are none, nor is what has nothing of it. Only the first page of the
// application's list is looked at. There are none for a conflict that takes no object. engine.ErrNotFound: there is no such conflict; a
// *engine.Refusal where the application does not tell.
func (d *Desk) Candidates(ctx context.Context, id engine.ConflictID) ([]engine.Candidate, error) {
	c, err := d.cfg.Store.Conflict(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("what may be meant by conflict %s: %w", id, err)
	}
	k := d.cfg.Site.Kind(c.Service, c.KindName)
	if k == nil || c.Site != d.self() || !slices.Contains(c.Actions, engine.ActionAdopt) || k.Natural() || k.Within != "" || k.ID.At == "" {
		return nil, nil
	}
	row, err := d.cfg.Store.Operation(ctx, c.Operation)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what may be meant by conflict %s: %w", id, err)
	}
	edit, err := merge.EditOf(k, engine.TypeCreate, row.Body, merge.New(k, engine.About{}, d.self()).Nothing(), nil)
	if err != nil || edit.Empty() { // nobody can tell by what it sets
		return nil, nil
	}
	items, err := d.list(ctx, k)
	if err != nil {
		return nil, err
	}
	alone, err := d.alone(ctx, k, items)
	if err != nil {
		return nil, err
	}
	var list []engine.Candidate
	for _, o := range alone {
		x, err := d.candidate(ctx, k, edit, o)
		if err != nil {
			return nil, fmt.Errorf("what may be meant by conflict %s: %w", id, err)
		}
		if x.Agrees > 0 {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b engine.Candidate) int {
		return cmp.Or(cmp.Compare(b.Agrees, a.Agrees), cmp.Compare(a.Label, b.Label))
	})
	return list[:min(len(list), maxCandidates)], nil
}

// list returns the objects of a kind that this site's application lists.
func (d *Desk) list(ctx context.Context, k *engine.Kind) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.CallTimeout)
	defer cancel()
	reply, err := d.cfg.App.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Collection, Header: map[string]string{"Accept": "application/json"}})
	var items [][]byte
	if err == nil && reply.Status == http.StatusOK {
		items, err = d.cfg.App.Items(k, reply.Body)
	}
	if err != nil || reply.Status != http.StatusOK {
		return nil, &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(
			"the application of %s does not list its %ss (%s)", d.cfg.Members.Name(d.self()), k.Name, plan.Tell(reply, err))}
	}
	return items, nil
}

// candidate compares an object of a list with what a create sets.
func (d *Desk) candidate(ctx context.Context, k *engine.Kind, edit *engine.Edit, o listed) (engine.Candidate, error) {
	x := engine.Candidate{Local: o.Local, Label: o.Label}
	presented, err := d.cfg.App.Present(ctx, k, engine.Reply{Status: http.StatusOK, Body: o.item})
	if err != nil {
		return x, err
	}
	root, err := tree.Parse(k, presented.Body)
	if err != nil {
		return x, nil
	}
	for _, p := range tree.Sorted(edit.Set) {
		if wanted := edit.Set[p]; !tree.IsContainer(wanted) && !k.Hides(p) && p != k.Marker {
			x.Of++
			if v, ok := tree.ValueAt(root, p); ok && bytes.Equal(tree.ByValue(wanted), tree.ByValue(tree.Compact(v))) {
				x.Agrees++
			}
		}
	}
	return x, nil
}

// textAt is the text, or the number as text, in a field.
func textAt(root any, p engine.Pointer) string {
	if p == "" {
		return ""
	}
	v, _ := tree.ValueAt(root, p)
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}
