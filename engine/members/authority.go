package members

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

// Order carries something out as an authority, durable when it returns; it takes no other site to be reached. ErrNotFound: there is no such
// site, zone or authority. The error may be a *engine.Refusal.
func (o Orders) Order(ctx context.Context, order engine.Order) error {
	return o.m.change(ctx, func(d *draft) error {
		records, err := d.own().Order(order, d.now)
		if err == nil {
			err = d.put(records...)
			d.heedRemovals()
		}
		return err
	})
}

// Request returns the text of a request that another authority signs the order, whose key is kept off line. Nothing is done by it. The
// errors are those of Order.
func (o Orders) Request(by engine.SiteID, order engine.Order) (text string, err error) {
	now := o.m.cfg.Now()
	look(o.m, func(s *mesh.State) error {
		if !s.IsAuthority(by) {
			err = &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "authority", Detail: fmt.Sprintf("%.60q is no authority of the mesh", by)}
			return err
		}
		var records []engine.MeshRecord
		if records, err = s.By(by).Order(order, now); err == nil && len(records) == 0 {
			err = &engine.Refusal{Status: http.StatusConflict, Type: "authority", Detail: "there is nothing to sign: that is so already"}
		}
		if err == nil {
			text = s.By(by).Request(records).Text()
		}
		return err
	})
	return text, err
}

// Apply takes in what an authority has signed off line; any site may. All of it counts, or nothing has happened. It returns how many
// records that were. ErrRefused: it is no answer, or signed by nobody who may. ErrMissing: it does not follow what is known here.
func (o Orders) Apply(ctx context.Context, answer string) (n int, err error) {
	refuse := func(err error) error {
		return &engine.Refusal{Status: http.StatusUnprocessableEntity, Type: "authority", Detail: err.Error()}
	}
	records, err := mesh.ReadAnswer(answer)
	if err != nil {
		return 0, refuse(err)
	}
	verified, err := o.m.verify(records)
	if err != nil {
		return 0, refuse(err)
	}
	err = o.m.change(ctx, func(d *draft) error {
		if err := d.hear(verified); err != nil {
			return refuse(err)
		}
		if n = len(d.news.Records); n < len(verified) {
			return refuse(errors.New("something newer was said of that since the request was made: make it anew"))
		}
		d.said = d.news.Records
		d.heedRemovals()
		return d.meet()
	})
	return n, err
}

// Certify gives a site a certificate: it lets one in whose key is known, gives it another name, or lets it be a member for longer. An
// empty name leaves it the one that it has; until is when it ends, zero: never. The error may be a *engine.Refusal.
func (o Orders) Certify(ctx context.Context, site engine.SiteID, name engine.SiteName, until time.Time) error {
	return o.Order(ctx, engine.Order{Certify: site, Name: name, Until: until})
}

// AddAuthority makes a key an authority, of the lowest rank, or of the one before this site's own. The error may be a *engine.Refusal.
func (o Orders) AddAuthority(ctx context.Context, key engine.SiteID, first bool) error {
	return o.Order(ctx, engine.Order{Add: key, First: first})
}

// RemoveAuthority has a key be no authority any more; what it has signed and still counts, this site signs anew. ErrNotFound: it is
// none. The error may be a *engine.Refusal.
func (o Orders) RemoveAuthority(ctx context.Context, key engine.SiteID) error {
	return o.Order(ctx, engine.Order{Remove: key})
}
