package members

import (
	"context"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/mesh"
)

// Orders are what this site does as an authority of the mesh: who belongs to it, under which name and how long, who may come in, who
// has to go, and the zones. At a site that is none each of them is refused, and the refusal says who is one. It is safe for concurrent use.
type Orders struct{ m *Members }

// Authorities are the keys that may say who belongs to the mesh, by rank. Not each of them is a site's.
func (o Orders) Authorities() []engine.SiteID { return look(o.m, (*mesh.State).Authorities) }

// Founder is the site that has founded the mesh.
func (o Orders) Founder() engine.SiteID { return look(o.m, (*mesh.State).Founder) }

// Certify gives a site a certificate: it lets one in whose key is known, gives it another name, or lets it be a member for longer. An
// empty name leaves it the one that it has; until is when it ends, zero: never. The error may be a *engine.Refusal.
func (o Orders) Certify(ctx context.Context, site engine.SiteID, name engine.SiteName, until time.Time) error {
	return o.m.change(ctx, func(d *draft) error {
		r, err := d.own().Certify(site, name, until, d.now)
		if err != nil {
			return err
		}
		return d.put(r)
	})
}

// AddAuthority makes a key an authority, of the lowest rank, or of the one before this site's own. The error may be a *engine.Refusal.
func (o Orders) AddAuthority(ctx context.Context, key engine.SiteID, before bool) error {
	return o.m.change(ctx, func(d *draft) error {
		r, err := d.own().AddAuthority(key, before)
		if err != nil {
			return err
		}
		return d.put(r)
	})
}

// RemoveAuthority has a key be no authority any more; what it has signed and still counts, this site signs anew. ErrNotFound: it is
// none. The error may be a *engine.Refusal.
func (o Orders) RemoveAuthority(ctx context.Context, key engine.SiteID) error {
	return o.m.change(ctx, func(d *draft) error {
		records, err := d.own().RemoveAuthority(key)
		if err != nil {
			return err
		}
		return d.put(records...)
	})
}
