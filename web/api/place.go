package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/shape"
)

// PlacementRequest says where a resource is to live: all of its sites, or what is different.
type PlacementRequest struct {
	Sites  []string `json:"sites,omitempty"`
	Add    []string `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
	// Scope is where all of it is to live, and how its sites are to share it: with "%" it is a cross resource from then on, with "&" a replicated one.
	Scope string `json:"scope,omitempty"`
	// Force names the warnings that are overridden: "actions".
	Force []string `json:"force,omitempty"`
}

// placed is the operation that changes a placement, or the resource when nothing is different.
type placed struct {
	Operation *shape.Operation `json:"operation,omitempty"`
	Resource  *shape.Resource  `json:"resource,omitempty"`
}

func (a *API) patchResource(c echo.Context) error {
	ref, err := resourceRef(c)
	if err != nil {
		return err
	}
	var r PlacementRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	if force := c.Request().Header.Get("Skerry-Force"); force != "" {
		r.Force = append(r.Force, force)
	}
	v, err := a.Place(c.Request().Context(), ref, a.asker(c), r)
	switch {
	case err != nil:
		return err
	case a.asker(c) != a.Mesh.Self(): // another agent, which answers its client
		return answer(c, http.StatusOK, v)
	case v.Operation == nil:
		return answer(c, http.StatusOK, v.Resource)
	}
	c.Response().Header().Set("Location", "/api/v1/operations/"+v.Operation.ID)
	c.Response().Header().Set("Skerry-Operation", v.Operation.ID)
	return answer(c, http.StatusAccepted, v.Operation)
}

// Place changes where a resource lives, here or, for a client of this site, at a site that has it.
func (a *API) Place(ctx context.Context, ref ResourceRef, from engine.SiteID, r PlacementRequest) (placed, error) {
	row, err := a.row(ctx, ref)
	q, wrong := a.placeRequest(ctx, cmp.Or(string(row.Service), ref.Service), r)
	if wrong != nil {
		return placed{}, wrong
	}
	if err == nil && row.State == engine.StateLeft {
		err = engine.ErrNotFound
	}
	var id engine.OperationID
	if err == nil {
		err = a.fits(ctx, row, q)
	}
	if err == nil {
		id, err = a.Operator.Place(ctx, row.Document, q)
	}
	elsewhere := errors.Is(err, engine.ErrNotFound) || err != nil && slices.Contains([]string{"not-found", "no-replica"}, AsRefusal(err).Type)
	if elsewhere && from == a.Mesh.Self() {
		if r.adopts(ref) {
			v, err := a.placeObject(ctx, ref, q)
			if err == nil || AsRefusal(err).Type != "not-found" { // else another site may have it
				return v, err
			}
		}
		return a.placeElsewhere(ctx, ref, r, err)
	}
	if err != nil {
		return placed{}, err
	}
	if id == "" {
		v, err := a.Resource(ctx, ResourceRef{string(row.ID), string(row.Service), string(row.Kind)})
		return placed{Resource: &v}, err
	}
	v, err := a.Operation(ctx, string(id))
	return placed{Operation: &v}, err
}

// placeObject adds sites to an object of this site's application.
func (a *API) placeObject(ctx context.Context, ref ResourceRef, q engine.PlaceRequest) (placed, error) {
	v, err := a.adopt(ctx, AdoptRequest{Service: ref.Service, Kind: ref.Kind, ID: ref.ID}, engine.AdoptRequest{Sites: q.Add}, "")
	if err != nil || v.Operation == "" {
		return placed{Resource: &v.Resource}, err
	}
	op, err := a.Operation(ctx, v.Operation)
	return placed{Operation: &op}, err
}

// adopts reports whether an object of this site that nobody replicates can be meant.
func (r PlacementRequest) adopts(ref ResourceRef) bool {
	return ref.Service != "" && ref.Kind != "" && len(r.Add) > 0 && r.Remove == nil
}

// placeRequest reads a request about a resource of a service, and the names in it.
func (a *API) placeRequest(ctx context.Context, service string, r PlacementRequest) (engine.PlaceRequest, error) {
	var q engine.PlaceRequest
	switch {
	case r.Scope != "" && (r.Sites != nil || r.Add != nil || r.Remove != nil):
		return q, badRequest("give scope, or sites, or add and remove: one of them")
	case r.Scope != "":
		parts, mode, err := a.partsOf(ctx, ExplainRequest{Scope: r.Scope, Service: service})
		if err != nil {
			return q, err
		}
		if mode != scope.Cross && mode != scope.Replicate && mode != scope.One {
			return q, refuse(http.StatusUnprocessableEntity, "scope-type", `what is there is placed at sites with "&" between them, or divided with "%%", such as paris %% nantes`)
		}
		q.Sites, q.Parts = slices.Concat(parts...), parts
	case r.Sites != nil && (r.Add != nil || r.Remove != nil):
		return q, badRequest("give sites, or add and remove, not both")
	case r.Sites != nil && len(r.Sites) == 0:
		return q, refuse(http.StatusUnprocessableEntity, "placement", "sites is empty: a resource needs a site; delete it instead")
	case len(r.Sites)+len(r.Add)+len(r.Remove) == 0:
		return q, badRequest("name the sites: all of them as sites or in a scope, or some as add and remove")
	}
	n := a.names()
	for _, list := range []struct {
		names []string
		ids   *[]engine.SiteID
	}{{r.Sites, &q.Sites}, {r.Add, &q.Add}, {r.Remove, &q.Remove}} {
		for _, name := range list.names {
			id, err := n.ID(name)
			if err != nil {
				return q, err
			}
			if id == "" {
				return q, badRequest("a site has no name")
			}
			*list.ids = append(*list.ids, id)
		}
	}
	for _, what := range r.Force {
		if what != engine.ForceActions {
			return q, badRequest("%q is no warning that can be overridden: give %q", what, engine.ForceActions)
		}
		q.Forced = true
	}
	return q, nil
}

// Division is what the parts of a resource would have.
type Division struct {
	Parts []DividedPart `json:"parts"`
}

// DividedPart is one of them: its sites, and its share of what is divided and clients have set.
type DividedPart struct {
	Sites []string                           `json:"sites"`
	Share map[engine.Pointer]json.RawMessage `json:"share"`
}

func (a *API) getDivision(c echo.Context) error {
	ref, err := resourceRef(c, "scope")
	if err != nil {
		return err
	}
	v, err := a.Divide(c.Request().Context(), ref, c.QueryParam("scope"))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// Divide tells how a resource that is here would be divided by a scope. Nothing is changed.
func (a *API) Divide(ctx context.Context, ref ResourceRef, text string) (Division, error) {
	v := Division{Parts: []DividedPart{}}
	if text == "" {
		return v, badRequest("give a scope")
	}
	row, err := a.row(ctx, ref)
	if err != nil {
		return v, err
	}
	q, err := a.placeRequest(ctx, string(row.Service), PlacementRequest{Scope: text})
	if err != nil {
		return v, err
	}
	shares, err := a.Operator.Shares(ctx, row.Document, q)
	if err != nil {
		return v, err
	}
	k, n := a.kind(row.Service, row.Kind), a.names()
	for i, part := range q.Parts {
		d := DividedPart{Share: shares[i]}
		for _, id := range part {
			d.Sites = append(d.Sites, n.Of(id))
		}
		maps.DeleteFunc(d.Share, func(p engine.Pointer, _ json.RawMessage) bool { return k == nil || k.Hides(p) })
		v.Parts = append(v.Parts, d)
	}
	return v, nil
}

// placeElsewhere asks the other sites that can be reached, one after the other, for one that has the resource: they do it for a
// site that has had a part. Err is why it cannot be done here.
func (a *API) placeElsewhere(ctx context.Context, ref ResourceRef, r PlacementRequest, err error) (placed, error) {
	target := "/resources/" + url.PathEscape(ref.ID) + "?" + query(map[string]string{"service": ref.Service, "kind": ref.Kind})
	status, silent := a.Network.Status(), false
	for _, m := range a.Mesh.Members() {
		if m.ID == a.Mesh.Self() {
			continue
		}
		if !status[m.ID].Reachable {
			silent = true
			continue
		}
		var v placed
		there := a.askSite(ctx, m.ID, http.MethodPatch, target, r, &v)
		if there == nil {
			return v, nil
		}
		switch refusal := AsRefusal(there); refusal.Type {
		case "not-found", "no-replica":
		case "unreachable":
			silent = true
		default:
			return placed{}, there
		}
	}
	if silent {
		return placed{}, refuse(http.StatusServiceUnavailable, "unreachable",
			"no site that can be reached changes the placement of resource %q for this one, and some cannot be reached: ask at a site that has it; nothing has happened", ref.ID)
	}
	return placed{}, err
}

func query(values map[string]string) string {
	q := url.Values{}
	for name, value := range values {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q.Encode()
}
