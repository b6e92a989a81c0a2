package page

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/auth"
)

// loginModel is what the form of the login shows.
type loginModel struct {
	Name, Next, Wrong string
	// Once is the secret of a link that lets a browser in. Accounts says that people have accounts.
	Once     string
	Accounts bool
}

func (p *Page) login(c echo.Context) error {
	next := ownAddress(c.QueryParam("next"))
	if auth.From(c.Request().Context()).Role > auth.Anyone {
		return c.Redirect(http.StatusSeeOther, next)
	}
	c.Response().Header().Set("Referrer-Policy", "origin") // the address may have a secret in it
	return render(c, http.StatusOK, loginView(p.frame(c, "Log in", "", ""), loginModel{Next: next, Once: c.QueryParam("once"), Accounts: p.api.Auth.NeedsLogin()}))
}

// open lets a browser in by the secret of a link. It takes a button that somebody presses: what looks at links before people do uses none up.
func (p *Page) open(c echo.Context, m loginModel) error {
	cookie, err := p.api.Auth.Open(c.Request().Context(), c.FormValue("once"), c.Request().Host)
	switch {
	case errors.Is(err, auth.ErrOnce):
		return p.notIn(c, http.StatusUnauthorized, m, err)
	case err != nil:
		return p.Fail(c, err)
	}
	c.SetCookie(cookie)
	return c.Redirect(http.StatusSeeOther, m.Next)
}

// notIn says why somebody was not let in.
func (p *Page) notIn(c echo.Context, status int, m loginModel, err error) error {
	m.Wrong = strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + "."
	return render(c, status, loginView(p.frame(c, "Log in", "", ""), m))
}

func (p *Page) logIn(c echo.Context) error {
	m := loginModel{Name: c.FormValue("name"), Next: ownAddress(c.FormValue("next")), Accounts: p.api.Auth.NeedsLogin()}
	if c.FormValue("once") != "" {
		return p.open(c, m)
	}
	cookies, _, err := p.api.Auth.Login(c.Request().Context(), c.RealIP(), m.Name, c.FormValue("password"))
	status := http.StatusUnauthorized
	var soon *auth.TooSoon
	switch {
	case err == nil:
		for _, cookie := range cookies {
			c.SetCookie(cookie)
		}
		return c.Redirect(http.StatusSeeOther, m.Next)
	case errors.As(err, &soon):
		status = http.StatusTooManyRequests
		c.Response().Header().Set("Retry-After", strconv.Itoa(int(soon.Wait.Seconds())+1))
	case !errors.Is(err, auth.ErrLogin):
		return p.Fail(c, err)
	}
	return p.notIn(c, status, m, err)
}

func (p *Page) logOut(c echo.Context) error {
	ctx := c.Request().Context()
	cookie, err := p.api.Auth.Logout(ctx, auth.From(ctx), c.Request().Host)
	if err != nil {
		return p.Fail(c, err)
	}
	c.SetCookie(cookie)
	return c.Redirect(http.StatusSeeOther, "/login")
}

// ownAddress returns the address of a view of this site; anything else, such as //elsewhere, becomes the overview.
func ownAddress(s string) string {
	if !strings.HasPrefix(s, "/") || len(s) > 1 && (s[1] == '/' || s[1] == '\\') || strings.ContainsAny(s, "\r\n\t") {
		return "/"
	}
	return s
}
