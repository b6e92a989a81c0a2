package page

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/hooks"
)

// settingsModel is what the settings show beside the frame.
type settingsModel struct {
	Tokens []api.Token
	Made   *api.Token // just now
	// What the form for a token said, and why it was refused.
	Form  api.TokenRequest
	Wrong string
	// The same of hooks, for admins.
	Hooks     []api.Hook
	MadeHook  *api.Hook
	HookForm  api.HookRequest
	WrongHook string
}

func (p *Page) settings(c echo.Context) error {
	return p.showSettings(c, http.StatusOK, settingsModel{})
}

func (p *Page) showSettings(c echo.Context, status int, m settingsModel) error {
	var err error
	if m.Tokens, err = p.api.Tokens(c.Request().Context()); err != nil {
		return p.Fail(c, err)
	}
	if m.Form.Role == "" {
		m.Form.Role, m.Form.Expires = auth.Viewer.String(), "720h"
	}
	f := p.frame(c, "Settings", "settings", "/api/v1/tokens")
	if f.administers() {
		if m.Hooks, err = p.api.ListHooks(c.Request().Context()); err != nil {
			return p.Fail(c, err)
		}
	}
	if m.Made != nil || m.MadeHook != nil {
		f.Reload = ""
	}
	return render(c, status, settingsView(f, m))
}

func (p *Page) makeToken(c echo.Context) error {
	m := settingsModel{Form: api.TokenRequest{Name: c.FormValue("name"), Role: c.FormValue("role"), Expires: c.FormValue("expires")}}
	made, err := p.api.MakeToken(c.Request().Context(), m.Form)
	if err != nil {
		r, told := refusalOf(err)
		if !told {
			return p.Fail(c, err)
		}
		m.Wrong = r.Detail
		return p.showSettings(c, r.Status, m)
	}
	return p.showSettings(c, http.StatusCreated, settingsModel{Made: &made})
}

func (p *Page) revokeToken(c echo.Context) error {
	id, err := param(c, "id")
	ctx := c.Request().Context()
	if err == nil {
		err = p.api.Auth.Revoke(ctx, auth.From(ctx), id)
	}
	if err != nil {
		return p.Fail(c, err)
	}
	return c.Redirect(http.StatusSeeOther, "/settings")
}

// roles are those that somebody may give.
func (f frame) roles() (names []string) {
	for r := auth.Viewer; r <= f.By.Role; r++ {
		names = append(names, r.String())
	}
	return names
}

func (p *Page) addHook(c echo.Context) error {
	m := settingsModel{HookForm: api.HookRequest{URL: strings.TrimSpace(c.FormValue("url")), Events: strings.FieldsFunc(c.FormValue("events"), func(r rune) bool {
		return r == ',' || unicode.IsSpace(r)
	})}}
	made, err := p.api.AddHook(c.Request().Context(), m.HookForm)
	if err != nil {
		r, told := refusalOf(err)
		if !told {
			return p.Fail(c, err)
		}
		m.WrongHook = r.Detail
		return p.showSettings(c, r.Status, m)
	}
	return p.showSettings(c, http.StatusCreated, settingsModel{MadeHook: &made})
}

func (p *Page) removeHook(c echo.Context) error {
	id, err := param(c, "id")
	if err == nil {
		err = p.api.Hooks.Remove(c.Request().Context(), id)
	}
	if err != nil {
		return p.Fail(c, err)
	}
	return c.Redirect(http.StatusSeeOther, "/settings")
}

func (p *Page) deliveries(c echo.Context) error {
	ctx := c.Request().Context()
	before, err := api.ParseBefore(c.QueryParam("before"))
	if err != nil {
		return p.Fail(c, err)
	}
	id, err := param(c, "id")
	if err != nil {
		return p.Fail(c, err)
	}
	h, _, err := p.api.Hooks.Get(ctx, id)
	if err != nil {
		return p.Fail(c, err)
	}
	list, err := p.api.Deliveries(ctx, id, before, pageSize)
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Deliveries to "+h.URL, "settings", with("/api/v1/hooks/"+url.PathEscape(id)+"/deliveries", pick(c.QueryParams(), "before"), "limit", strconv.Itoa(pageSize)))
	return render(c, http.StatusOK, deliveriesView(f, id, list, before > 0))
}

// stateOfHook is the sign of a hook.
func stateOfHook(h api.Hook) string {
	if h.State == "failing" {
		return "degraded"
	}
	return "reachable"
}

// stateOfDelivery is the sign of an attempt.
func stateOfDelivery(result string) string {
	switch result {
	case hooks.Delivered:
		return "applied"
	case hooks.GivenUp:
		return "rejected"
	}
	return "pending"
}
