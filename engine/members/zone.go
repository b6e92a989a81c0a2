package members

import (
	"context"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// Zones lists the zones by name.
func (m *Members) Zones() []engine.Zone { return look(m, (*mesh.State).Zones) }

// SetZone makes a zone or gives it other sites. What was created in a scope that names it stays where it is. The error may be
// a *engine.Refusal.
func (o Orders) SetZone(ctx context.Context, name engine.ZoneName, sites []engine.SiteID) error {
	return o.m.change(ctx, func(d *draft) error {
		r, err := d.own().SetZone(name, sites, d.now)
		if err != nil {
			return err
		}
		return d.put(r)
	})
}

// DeleteZone takes a zone away. ErrNotFound: there is none of that name.
func (o Orders) DeleteZone(ctx context.Context, name engine.ZoneName) error {
	return o.m.change(ctx, func(d *draft) error {
		r, err := d.own().DeleteZone(name, d.now)
		if err != nil {
			return err
		}
		return d.put(r)
	})
}
