package api

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// CertificateRequest asks an authority to certify a site.
type CertificateRequest struct {
	Name     string `json:"name"`      // empty: the one that it has
	ValidFor string `json:"valid_for"` // a Go duration; empty: without an end
}

// Certify gives a site, by its name or its key, a certificate.
func (a *API) Certify(ctx context.Context, site string, r CertificateRequest) (shape.Site, error) {
	id, err := a.names().ID(site)
	if err != nil {
		id = engine.SiteID(site) // of one that is to be let in
	}
	term, err := validFor(r.ValidFor)
	if err != nil {
		return shape.Site{}, err
	}
	until := time.Time{}
	if term > 0 {
		until = a.Now().Add(term)
	}
	if err := a.Mesh.Certify(ctx, id, engine.SiteName(r.Name), until); err != nil {
		return shape.Site{}, err
	}
	for _, s := range a.Sites() {
		if s.PeerID == string(id) {
			return s, nil
		}
	}
	return shape.Site{}, engine.ErrNotFound
}

func (a *API) putCertificate(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	name, err := segment(c, "name")
	if err != nil {
		return err
	}
	var r CertificateRequest
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.Certify(c.Request().Context(), name, r)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}
