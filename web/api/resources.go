package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// ResourceList is one page of resources, newest first. Next is empty on the last one.
type ResourceList struct {
	Items []shape.Resource `json:"items"`
	Next  string           `json:"next"`
	// Facets are there where they were asked for.
	Facets *Facets `json:"facets,omitempty"`
}

// ResourceQuery selects resources; sites are names. Empty fields select all.
type ResourceQuery struct {
	Service, Kind, Site, State, Text, Order, Cursor string
	Limit                                           int
	Count                                           bool // count all that the filters leave
	Names                                           bool // names that exactly one site is to hold, in place of resources
}

// ResourceStates are the states that a list can be filtered by.
var ResourceStates = []engine.State{
	engine.StateConverged, engine.StateUnknown, engine.StateConverging, engine.StateDegraded, engine.StateConflict, engine.StateDeleting, engine.StateDeleted, engine.StateLeft,
}

// Resources lists resources; deleted ones only when the state asks for them.
func (a *API) Resources(ctx context.Context, q ResourceQuery) (ResourceList, error) {
	n := a.names()
	site, err := n.ID(q.Site)
	if err != nil {
		return ResourceList{}, err
	}
	state, err := parseState(q.State, ResourceStates...)
	if err != nil {
		return ResourceList{}, err
	}
	if err := a.checkKind(q.Service, q.Kind); err != nil {
		return ResourceList{}, err
	}
	order, err := parseOrder(q.Order)
	if err != nil {
		return ResourceList{}, err
	}
	if q.Names && q.Count {
		return ResourceList{}, badRequest("names are not counted: give names or count")
	}
	// Both read everything where a text is looked for: they do so side by side.
	var counted sync.WaitGroup
	var facets Facets
	var notCounted error
	if q.Count {
		counted.Go(func() { facets, notCounted = a.Facets(ctx, q) })
	}
	rows, next, err := a.Store.Resources(ctx, engine.ResourceFilter{
		Order: order, Names: q.Names,
		Service: engine.ServiceName(q.Service), Kind: engine.KindName(q.Kind), Site: site, State: state,
		Query: q.Text, Silent: slices.Sorted(maps.Keys(n.Silent)), Limit: q.Limit, Cursor: q.Cursor,
	})
	counted.Wait()
	if err != nil {
		return ResourceList{}, fmt.Errorf("list resources: %w", err)
	}
	list := ResourceList{Items: make([]shape.Resource, 0, len(rows)), Next: next}
	for _, r := range rows {
		list.Items = append(list.Items, n.Resource(r))
	}
	if q.Count {
		list.Facets = &facets
	}
	return list, notCounted
}

// checkKind refuses names that the catalog does not have. A kind may be given without its service.
func (a *API) checkKind(service, kind string) error {
	if service != "" && a.service(engine.ServiceName(service)) == nil {
		return refuse(422, "unknown-service", "there is no service %q in application %s", service, a.Application)
	}
	if kind == "" {
		return nil
	}
	for _, s := range a.Services {
		if (service == "" || string(s.Name) == service) && a.kind(s.Name, engine.KindName(kind)) != nil {
			return nil
		}
	}
	return badRequest("there is no kind %q in the catalog", kind)
}

// ResourceRef names a resource as clients do: by its meta-identifier or this site's own, and by service and kind
// where that is not enough.
type ResourceRef struct{ ID, Service, Kind string }

// Candidate is one of several resources that an identifier may mean.
type Candidate struct {
	ID      string `json:"id"`
	Service string `json:"service"`
	Kind    string `json:"kind"`
}

// ambiguous is the refusal of an identifier that means several resources.
type ambiguous struct {
	refusal    *engine.Refusal
	candidates []Candidate
}

func (e *ambiguous) Error() string { return e.refusal.Error() }
func (e *ambiguous) Unwrap() error { return e.refusal }

// Candidates returns the resources that an ambiguous reference may mean; nil for any other error.
func Candidates(err error) []Candidate {
	var am *ambiguous
	if errors.As(err, &am) {
		return am.candidates
	}
	return nil
}

// Resource finds one resource. A deleted one, or one that this site has left, is found when no other has the identifier.
func (a *API) Resource(ctx context.Context, ref ResourceRef) (shape.Resource, error) {
	row, err := a.row(ctx, ref)
	if err != nil {
		return shape.Resource{}, err
	}
	return a.names().Resource(row), nil
}

func (a *API) row(ctx context.Context, ref ResourceRef) (engine.ResourceRow, error) {
	if ref.ID == "" {
		return engine.ResourceRow{}, badRequest("name a resource")
	}
	if err := a.checkKind(ref.Service, ref.Kind); err != nil {
		return engine.ResourceRow{}, err
	}
	f := engine.ResourceFilter{
		ID: engine.ResourceID(ref.ID), Service: engine.ServiceName(ref.Service), Kind: engine.KindName(ref.Kind), Limit: 100,
	}
	rows, _, err := a.Store.Resources(ctx, f)
	if err != nil {
		return engine.ResourceRow{}, fmt.Errorf("look up resource %s: %w", ref.ID, err)
	}
	if len(rows) == 0 {
		if rows, err = a.rowsByLocal(ctx, ref); err != nil {
			return engine.ResourceRow{}, fmt.Errorf("look up resource %s: %w", ref.ID, err)
		}
	}
	for _, past := range []engine.State{engine.StateLeft, engine.StateDeleted} {
		if len(rows) > 0 {
			break
		}
		f.State = past
		if rows, _, err = a.Store.Resources(ctx, f); err != nil {
			return engine.ResourceRow{}, fmt.Errorf("look up resource %s: %w", ref.ID, err)
		}
	}
	rows = newestOfEach(rows)
	switch len(rows) {
	case 0:
		if rows, err = a.rowsByName(ctx, ref); err != nil {
			return engine.ResourceRow{}, err
		}
		if len(rows) == 1 {
			return rows[0], nil
		}
		return engine.ResourceRow{}, refuse(404, "not-found", "no resource %q is shared with this site", ref.ID)
	case 1:
		return rows[0], nil
	}
	am := &ambiguous{}
	var words []string
	for _, r := range rows {
		am.candidates = append(am.candidates, Candidate{string(r.ID), string(r.Service), string(r.Kind)})
		words = append(words, fmt.Sprintf("%s %s", r.Service, r.Kind))
	}
	am.refusal = refuse(409, "ambiguous", "%q names several resources (%s): pick one with ?service= and &kind=",
		ref.ID, strings.Join(words, ", "))
	return engine.ResourceRow{}, am
}

// rowToRead is row for those who change nothing: it finds a name that exactly one site is to hold as well, which whoever is asked to decide
// about it looks for.
func (a *API) rowToRead(ctx context.Context, ref ResourceRef) (engine.ResourceRow, error) {
	row, err := a.row(ctx, ref)
	var refusal *engine.Refusal
	if !errors.As(err, &refusal) || refusal.Status != 404 {
		return row, err
	}
	names, _, failed := a.Store.Resources(ctx, engine.ResourceFilter{
		ID: engine.ResourceID(ref.ID), Service: engine.ServiceName(ref.Service), Kind: engine.KindName(ref.Kind), Names: true, Limit: 1,
	})
	if failed != nil {
		return row, fmt.Errorf("look up the name %s: %w", ref.ID, failed)
	}
	if len(names) == 0 {
		return row, err
	}
	return names[0], nil
}

func (a *API) rowsByLocal(ctx context.Context, ref ResourceRef) ([]engine.ResourceRow, error) {
	var rows []engine.ResourceRow
	for _, s := range a.Services {
		for _, k := range s.Kinds() {
			if ref.Service != "" && ref.Service != string(s.Name) || ref.Kind != "" && ref.Kind != string(k.Name) {
				continue
			}
			r, err := a.Store.ResourceByLocal(ctx, s.Name, k.Name, engine.LocalID(ref.ID))
			if errors.Is(err, engine.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// newestOfEach keeps the first row of each service and kind: rows come newest first, and the newest incarnation of
// a name is the one that it means.
func newestOfEach(rows []engine.ResourceRow) []engine.ResourceRow {
	type kind struct {
		s engine.ServiceName
		k engine.KindName
	}
	seen := map[kind]bool{}
	kept := rows[:0:0]
	for _, r := range rows {
		if k := (kind{r.Service, r.Kind}); !seen[k] {
			seen[k] = true
			kept = append(kept, r)
		}
	}
	return kept
}
