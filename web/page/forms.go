package page

import (
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
)

func (p *Page) invite(c echo.Context) error {
	m := sitesModel{Expires: c.FormValue("expires"), Uses: c.FormValue("uses")}
	uses, err := strconv.Atoi(m.Uses)
	if err != nil {
		m.Wrong = "The number of sites is " + strconv.Quote(m.Uses) + ": give a number from 1 to 1000."
		return p.showSites(c, http.StatusBadRequest, m)
	}
	made, err := p.api.Invite(c.Request().Context(), api.InvitationRequest{Expires: m.Expires, Uses: &uses})
	if err != nil {
		r, told := refusalOf(err)
		if !told {
			return p.Fail(c, err)
		}
		m.Wrong = r.Detail
		return p.showSites(c, r.Status, m)
	}
	m.Made = &made
	return p.showSites(c, http.StatusCreated, m)
}

func (p *Page) revoke(c echo.Context) error {
	id, err := param(c, "id")
	if err == nil {
		err = p.api.Mesh.Revoke(c.Request().Context(), id)
	}
	if err != nil {
		return p.Fail(c, err)
	}
	return c.Redirect(http.StatusSeeOther, "/sites")
}

func (p *Page) setZone(c echo.Context) error {
	m := sitesModel{Zone: strings.TrimSpace(c.FormValue("name")), ZoneSites: c.FormValue("sites")}
	sites := strings.FieldsFunc(m.ZoneSites, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == '&' })
	if _, err := p.api.SetZone(c.Request().Context(), m.Zone, api.ZoneRequest{Sites: sites}); err != nil {
		r, told := refusalOf(err)
		if !told {
			return p.Fail(c, err)
		}
		m.WrongZone = r.Detail
		return p.showSites(c, r.Status, m)
	}
	return c.Redirect(http.StatusSeeOther, "/sites")
}

func (p *Page) deleteZone(c echo.Context) error {
	name, err := param(c, "name")
	if err == nil {
		err = p.api.Mesh.DeleteZone(c.Request().Context(), engine.ZoneName(name))
	}
	if err != nil {
		return p.Fail(c, err)
	}
	return c.Redirect(http.StatusSeeOther, "/sites")
}

func (p *Page) isolate(c echo.Context) error {
	switch c.FormValue("isolated") {
	case "true":
		p.api.Isolate(true)
	case "false":
		p.api.Isolate(false)
	default:
		return p.Fail(c, echo.NewHTTPError(http.StatusBadRequest, "isolated is neither true nor false"))
	}
	return c.Redirect(http.StatusSeeOther, "/sites")
}

func (p *Page) settle(c echo.Context, verb string) error {
	id, err := param(c, "id")
	if err != nil {
		return p.Fail(c, err)
	}
	if _, err := p.api.Settle(c.Request().Context(), id, p.api.Mesh.Self(), verb, ""); err != nil {
		r, told := refusalOf(err)
		if !told || r.Status == http.StatusNotFound {
			return p.Fail(c, err)
		}
		return p.showOperation(c, r.Status, id, r.Detail)
	}
	return c.Redirect(http.StatusSeeOther, operationURL(id))
}
