package desk

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/plan"
	"github.com/skerry/skerry/engine/tree"
)

// Objects lists what this site's application has of a kind and nobody replicates, as the application lists it. Only the first page
// of that is looked at, and maxListed objects of it: whole is false where there were more. A *engine.Refusal where the application does
// not tell, or its lists do not say what their objects are called.
func (d *Desk) Objects(ctx context.Context, service engine.ServiceName, kind engine.KindName) (list []engine.Object, whole bool, err error) {
	k := d.cfg.Site.Kind(service, kind)
	switch {
	case k == nil:
		return nil, false, engine.ErrNotFound
	case k.Within != "" || k.ID.At == "":
		return nil, false, &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "not-listed", Detail: fmt.Sprintf(
			"the catalog does not say how all %ss of a site are listed: share one by its identifier", kind)}
	}
	items, err := d.list(ctx, k)
	if err != nil {
		return nil, false, err
	}
	alone, err := d.alone(ctx, k, items)
	if err != nil {
		return nil, false, err
	}
	for _, x := range alone {
		list = append(list, x.Object)
	}
	return list, len(items) <= maxListed, nil
}

// listed is an object of a list, and what the list shows of it.
type listed struct {
	engine.Object
	item []byte
}

// alone returns those of the first maxListed items of a list that are objects and replicas of nothing.
func (d *Desk) alone(ctx context.Context, k *engine.Kind, items [][]byte) ([]listed, error) {
	var all []listed
	var ids []engine.LocalID
	for _, item := range items[:min(len(items), maxListed)] {
		root, err := tree.Parse(k, item)
		if err != nil {
			continue // it is no object
		}
		if o := (engine.Object{Local: engine.LocalID(textAt(root, k.ID.At)), Label: textAt(root, k.Label)}); o.Local != "" {
			all, ids = append(all, listed{o, item}), append(ids, o.Local)
		}
	}
	known, err := d.cfg.Store.KnownLocally(ctx, k.Service, k.Name, ids)
	if err != nil {
		return nil, fmt.Errorf("find out which %ss are replicated: %w", k.Name, err)
	}
	return slices.DeleteFunc(all, func(x listed) bool { return known[x.Local] }), nil
}

// Object returns what this site's application shows of one object, as clients see it, whether it is replicated or not.
// engine.ErrNotFound: it has none. Otherwise it may be a *engine.Refusal.
func (d *Desk) Object(ctx context.Context, service engine.ServiceName, kind engine.KindName, id string) ([]byte, error) {
	k := d.cfg.Site.Kind(service, kind)
	if k == nil {
		return nil, engine.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.CallTimeout)
	defer cancel()
	reply, err := d.cfg.App.Do(ctx, engine.Call{Kind: k, Method: http.MethodGet, Path: k.Item, Local: d.cfg.Site.Here(ctx, k, id), Header: map[string]string{"Accept": "application/json"}})
	switch {
	case err == nil && reply.Gone():
		return nil, engine.ErrNotFound
	case err != nil || reply.Status != http.StatusOK:
		return nil, &engine.Refusal{Status: http.StatusBadGateway, Type: "upstream", Err: err, Detail: fmt.Sprintf(
			"the application of %s does not show %s %s (%s)", d.cfg.Members.Name(d.self()), kind, id, plan.Tell(reply, err))}
	}
	if reply, err = d.cfg.App.Present(ctx, k, reply); err != nil {
		return nil, fmt.Errorf("show %s %s as clients see it: %w", kind, id, err)
	}
	return reply.Body, nil
}
