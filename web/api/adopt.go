package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/web/plan"
	"github.com/skerry/skerry/web/shape"
)

// AdoptRequest names an object of this site's application, and a scope that says at which sites it is to live.
type AdoptRequest struct {
	Service string `json:"service"`
	Kind    string `json:"kind"`
	ID      string `json:"id"`
	Scope   string `json:"scope"`
}

// Adopted is the resource that the object has become, and the last operation that this took; empty when it lived there already.
type Adopted struct {
	Resource  shape.Resource `json:"resource"`
	Operation string         `json:"operation"`
}

func (a *API) postResource(c echo.Context) error {
	var r AdoptRequest
	if _, err := params(c); err != nil {
		return err
	}
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.Adopt(c.Request().Context(), r, c.Request().Header.Get("Authorization"))
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", "/api/v1/resources/"+url.PathEscape(v.Resource.ID))
	if v.Operation == "" {
		return answer(c, http.StatusOK, v)
	}
	c.Response().Header().Set("Skerry-Operation", v.Operation)
	return answer(c, http.StatusAccepted, v)
}

// Adopt makes a resource of an object that this site's application has and nobody replicates yet. Authorization goes to the
// application with the read of it; empty: the agent's own credentials do.
func (a *API) Adopt(ctx context.Context, r AdoptRequest, authorization string) (Adopted, error) {
	if r.Service == "" || r.Kind == "" || r.ID == "" || r.Scope == "" {
		return Adopted{}, badRequest("give service, kind, id and scope")
	}
	if err := a.checkKind(r.Service, r.Kind); err != nil {
		return Adopted{}, err
	}
	parts, spread, err := a.adoptAt(ctx, r)
	if err != nil {
		return Adopted{}, err
	}
	q := engine.AdoptRequest{Sites: slices.Concat(parts...)}
	if spread {
		q.Parts = parts
	}
	return a.adopt(ctx, r, q, authorization)
}

// adoptAt resolves the scope of an adoption: the sites of each part where it is spread, otherwise one part with all of them.
func (a *API) adoptAt(ctx context.Context, r AdoptRequest) (parts engine.Parts, spread bool, err error) {
	k := a.kind(engine.ServiceName(r.Service), engine.KindName(r.Kind))
	parts, mode, err := a.partsOf(ctx, ExplainRequest{Scope: r.Scope, Service: r.Service, Method: http.MethodPatch, Path: itemPath(k, engine.ResourceID(r.ID))})
	if err != nil {
		return nil, false, err
	}
	if spread = mode == scope.Cross; !spread && mode != scope.Replicate || !slices.Contains(slices.Concat(parts...), a.Mesh.Self()) {
		return nil, false, refuse(http.StatusUnprocessableEntity, "scope-type",
			"an object is adopted at the site that has it: write it and the others with \"&\", or \"%%\" to spread it, such as %s & %s, and ask that site", a.names().Of(a.Mesh.Self()), "…")
	}
	return parts, spread, nil
}

// partsOf resolves the scope of r: the sites of each part where it says cross, otherwise one part with all of them.
func (a *API) partsOf(ctx context.Context, r ExplainRequest) (parts engine.Parts, mode string, err error) {
	e, err := a.Explain(ctx, r)
	switch {
	case err != nil:
		return nil, "", err
	case len(e.Errors) > 0:
		status := http.StatusUnprocessableEntity
		if e.Errors[0].Type == "scope-syntax" {
			status = http.StatusBadRequest
		}
		return nil, "", refuse(status, e.Errors[0].Type, "%s", e.Errors[0].Detail)
	case len(e.Alternatives) == 0:
		return nil, "", refuse(http.StatusUnprocessableEntity, "scope-type", "the scope says nothing of service %s", r.Service)
	}
	n, now := a.names(), plan.Today(e.Alternatives)
	named := [][]string{now.Sites}
	if now.Mode == scope.Cross {
		named = now.Parts
	}
	for _, names := range named {
		var part []engine.SiteID
		for _, name := range names {
			id, err := n.ID(name)
			if err != nil {
				return nil, "", err
			}
			part = append(part, id)
		}
		parts = append(parts, part)
	}
	return parts, now.Mode, nil
}

// adopt has the object of r adopted as q says.
func (a *API) adopt(ctx context.Context, r AdoptRequest, q engine.AdoptRequest, authorization string) (Adopted, error) {
	q.Kind, q.ID, q.Scope = a.kind(engine.ServiceName(r.Service), engine.KindName(r.Kind)), engine.LocalID(r.ID), r.Scope
	if authorization != "" {
		q.Credentials = &engine.Credentials{Header: http.Header{"Authorization": {authorization}}}
	}
	id, operation, err := a.Operator.AdoptExisting(ctx, q)
	if errors.Is(err, engine.ErrNotFound) {
		return Adopted{}, refuse(http.StatusNotFound, "not-found", "the application of %s has no %s %q", a.names().Of(a.Mesh.Self()), r.Kind, r.ID)
	}
	if err != nil {
		return Adopted{}, fmt.Errorf("adopt %s: %w", r.ID, err)
	}
	v, err := a.Resource(ctx, ResourceRef{string(id), r.Service, r.Kind})
	return Adopted{v, string(operation)}, err
}
