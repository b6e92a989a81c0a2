package page

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/auth"
)

// Page serves the dashboard of one site. It is safe for concurrent use.
type Page struct {
	api  *api.API
	pace pace
}

// New returns the dashboard over a.
func New(a *api.API) *Page { return &Page{api: a} }

// Mount adds the views to e.
func (p *Page) Mount(e *echo.Echo) {
	view := func(path string, h echo.HandlerFunc) { e.GET(path, p.pace.weighed(h)) }
	view("/", p.overview)
	view("/sites", p.sites)
	e.POST("/sites/invitations", p.invite, p.form)
	e.POST("/sites/invitations/:id/revoke", p.revoke, p.form)
	e.POST("/sites/zones", p.setZone, p.form)
	e.POST("/sites/zones/:name/delete", p.deleteZone, p.form)
	e.POST("/sites/isolation", p.isolate, p.form)
	view("/sites/:name", p.site)
	view("/ways", p.ways)
	e.POST("/sites/:name/retire", p.takeOut(p.api.Mesh.RemoveSite), p.form)
	e.POST("/sites/:name/revoke", p.takeOut(p.api.Mesh.RevokeSite), p.form)
	e.POST("/sites/:name/confirm", p.steerSite(p.confirm), p.form)
	e.POST("/sites/:name/reject", p.steerSite(p.reject), p.form)
	e.POST("/sites/:name/resume", p.steerSite(p.resumeService), p.form)
	view("/authorities", p.authorities)
	e.POST("/authorities", p.addAuthority, p.form)
	e.POST("/authorities/certificates", p.certify, p.form)
	e.POST("/authorities/:key/remove", p.removeAuthority, p.form)
	view("/resources", p.resources)
	view("/resources/:id", p.resource)
	view("/resources/:id/differences", p.differences)
	view("/names", p.names)
	view("/objects", p.objects)
	e.POST("/objects", p.share, p.form)
	e.POST("/resources/selected", p.selected, p.form)
	e.POST("/resources/:id/restore", p.steer(p.restore), p.form)
	e.POST("/resources/:id/place", p.steer(p.place), p.form)
	e.POST("/resources/:id/keep", p.steer(p.keep), p.form)
	e.POST("/resources/:id/check", p.steer(p.checkResource), p.form)
	for _, verb := range api.PauseVerbs {
		e.POST("/resources/:id/"+verb, p.steer(p.pause(verb)), p.form)
	}
	view("/history", p.past)
	view("/cuts/:id", p.cut)
	view("/relations", p.relations)
	view("/operations", p.operations)
	view("/operations/:id", p.operation)
	for _, verb := range api.Verbs {
		e.POST("/operations/:id/"+verb, func(c echo.Context) error { return p.settle(c, verb) }, p.form)
	}
	view("/decisions", p.decisions)
	e.POST("/decisions", p.decideAll, p.form)
	e.POST("/decisions/plan", p.plan, p.form)
	view("/conflicts", p.conflicts)
	view("/conflicts/:id", p.conflict)
	e.POST("/conflicts/:id", p.resolve, p.form)
	view("/compose", p.compose)
	e.POST("/compose", p.send, p.form)
	e.POST("/compose/check", p.check, p.form)
	view("/events", p.events)
	e.GET("/live", p.live)
	view("/audit", p.audit)
	view("/settings", p.settings)
	e.POST("/settings/tokens", p.makeToken, p.form)
	e.POST("/settings/tokens/:id/revoke", p.revokeToken, p.form)
	e.POST("/settings/hooks", p.addHook, p.form)
	view("/settings/hooks/:id", p.deliveries)
	e.POST("/settings/hooks/:id/remove", p.removeHook, p.form)
	e.GET("/login", p.login)
	e.POST("/login", p.logIn, p.formOf(loginBytes))
	e.POST("/logout", p.logOut, p.form)
}

// formBytes is the most that a form may have.
const formBytes = 2 << 20

// loginBytes is the most that the form of a login may have, which everybody can send.
const loginBytes = 8 << 10

// form reads a form before the handler looks at it.
func (p *Page) form(next echo.HandlerFunc) echo.HandlerFunc { return p.formOf(formBytes)(next) }

// formOf reads a form of so many bytes at most.
func (p *Page) formOf(most int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc { return p.readForm(most, next) }
}

func (p *Page) readForm(most int64, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		r.Body = http.MaxBytesReader(c.Response(), r.Body, most)
		err := r.ParseForm()
		var big *http.MaxBytesError
		switch {
		case errors.As(err, &big):
			return p.Fail(c, fmt.Errorf("the form is over %d bytes: %w", big.Limit, engine.ErrTooLarge))
		case err != nil:
			return p.Fail(c, echo.NewHTTPError(http.StatusBadRequest, "the form cannot be read"))
		}
		return next(c)
	}
}

// frame is what every view has around its own.
type frame struct {
	Title, Nav string
	// Twin is the address of the view's JSON, empty where there is none.
	Twin string
	// Reload is the address that shows the same view again; empty for a view that must not be replaced.
	Reload   string
	Site     string
	Version  string
	Isolated bool
	Now      time.Time
	// Decisions is how many things wait for a person, as far as this site is concerned.
	Decisions int
	// Moves says that the view shows something which changes with the time, though nothing happens.
	Moves bool
	// By is who asks.
	By auth.Principal
}

// waiting is what stands in the title before the name of the view, so that a tab in the background tells it.
func (f frame) waiting() string {
	if f.Decisions == 0 {
		return ""
	}
	return fmt.Sprintf("(%d) ", f.Decisions)
}

// operates and administers report whether who asks may use the forms that need that role.
func (f frame) operates() bool    { return f.By.Role >= auth.Operator }
func (f frame) administers() bool { return f.By.Role >= auth.Admin }

// trigger says when the view is loaded again: with news and, where it moves without any, with every pulse of the stream.
func (f frame) trigger() string {
	if f.Moves {
		return "news from:#live, alive from:#live"
	}
	return "news from:#live"
}

func (p *Page) frame(c echo.Context, title, nav, twin string) frame {
	f := frame{
		Title: title, Nav: nav, Twin: twin, Site: p.api.SelfName(), Version: p.api.Version,
		Isolated: p.api.Network.Isolated(), Now: p.api.Now(),
		By: auth.From(c.Request().Context()),
	}
	if counts, err := p.api.Counter.CountConflicts(c.Request().Context()); err == nil { // else the view itself says what is wrong
		for _, n := range counts {
			f.Decisions += n.Number
		}
	}
	f.Moves = nav == "overview" || nav == "sites" // they show round trips
	if c.Request().Method == http.MethodGet {
		f.Reload = c.Request().URL.RequestURI()
	}
	return f
}

func render(c echo.Context, status int, view templ.Component) error {
	h := c.Response().Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	c.Response().WriteHeader(status)
	return view.Render(c.Request().Context(), c.Response())
}

// Fail shows an error as a view.
func (p *Page) Fail(c echo.Context, err error) error {
	r := api.AsRefusal(err)
	f := p.frame(c, http.StatusText(r.Status), "", "")
	f.Reload = ""
	return render(c, r.Status, failView(f, r, api.Candidates(err), elsewhere(err, c.Request().URL.Path)))
}

// link leads somewhere.
type link struct{ To, Words string }

// elsewhere leads to the view of a conflict, or else to the inbox, of those sites which may tell of what this one knows nothing of, as far as their
// addresses are known.
func elsewhere(err error, path string) (links []link) {
	if !strings.HasPrefix(path, "/conflicts/") {
		path = "/decisions"
	}
	for _, s := range api.Elsewhere(err) {
		if to := viewAt(s.State.Dashboard, path); to != "" {
			links = append(links, link{to, "The same at " + s.Name})
		}
	}
	return links
}

// viewAt is the address of a view at another site; empty: that site has not told where its dashboard is.
func viewAt(dashboard, path string) string {
	if dashboard == "" {
		return ""
	}
	return strings.TrimSuffix(dashboard, "/") + path
}

// refusalOf returns what a refused form shows; faults of the agent's own go to Fail.
func refusalOf(err error) (*engine.Refusal, bool) {
	r := api.AsRefusal(err)
	return r, r.Type != "internal"
}
