package members

import (
	"context"
	"net/http"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// Zones lists the zones by name.
func (m *Members) Zones() []engine.Zone { return look(m, (*mesh.State).Zones) }

// SetZone makes a zone or gives it other sites. What was created in a scope that names it stays where it is. The error may be
// a *engine.Refusal.
func (o Orders) SetZone(ctx context.Context, name engine.ZoneName, sites []engine.SiteID) error {
	if len(sites) == 0 {
		return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "zone", Detail: "a zone has one site or more"}
	}
	return o.Order(ctx, engine.Order{Zone: name, Sites: sites})
}

// DeleteZone takes a zone away. ErrNotFound: there is none of that name.
func (o Orders) DeleteZone(ctx context.Context, name engine.ZoneName) error {
	return o.Order(ctx, engine.Order{Zone: name})
}
