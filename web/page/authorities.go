package page

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/api"
)

// authoritiesModel is what forms said that were refused, and why.
type authoritiesModel struct{ Wrong, Site, Name, ValidFor, Key string }

func (p *Page) authorities(c echo.Context) error {
	return p.showAuthorities(c, http.StatusOK, authoritiesModel{})
}

func (p *Page) showAuthorities(c echo.Context, status int, m authoritiesModel) error {
	list, err := p.api.Authorities(c.Request().Context())
	if err != nil {
		return p.Fail(c, err)
	}
	return render(c, status, authoritiesView(p.frame(c, "Authorities", "sites", "/api/v1/authorities"), list, p.api.Sites(), m))
}

// ordered goes back to the view once something is done; where that was refused, the view says why and has what the form said.
func (p *Page) ordered(c echo.Context, m authoritiesModel, err error) error {
	if err == nil {
		return c.Redirect(http.StatusSeeOther, "/authorities")
	}
	r, told := refusalOf(err)
	if !told {
		return p.Fail(c, err)
	}
	m.Wrong = r.Detail
	return p.showAuthorities(c, r.Status, m)
}

func (p *Page) certify(c echo.Context) error {
	said := func(name string) string { return strings.TrimSpace(c.FormValue(name)) }
	m := authoritiesModel{Site: said("site"), Name: said("name"), ValidFor: said("valid_for")}
	_, err := p.api.Certify(c.Request().Context(), m.Site, api.CertificateRequest{Name: m.Name, ValidFor: m.ValidFor})
	return p.ordered(c, m, err)
}

func (p *Page) addAuthority(c echo.Context) error {
	m := authoritiesModel{Key: strings.TrimSpace(c.FormValue("key"))}
	_, err := p.api.AddAuthority(c.Request().Context(), api.AuthorityRequest{Key: m.Key, First: c.FormValue("first") == "true"})
	return p.ordered(c, m, err)
}

func (p *Page) removeAuthority(c echo.Context) error {
	key, err := param(c, "key")
	if err == nil {
		err = p.api.RemoveAuthority(c.Request().Context(), key)
	}
	return p.ordered(c, authoritiesModel{}, err)
}

// mayOrder reports whether this site is one of the authorities.
func mayOrder(list []api.Authority) bool {
	return slices.ContainsFunc(list, func(a api.Authority) bool { return a.Self })
}

// authorityName is the site whose key it is, or the key.
func authorityName(a api.Authority) string { return cmp.Or(a.Site, a.Key) }
