package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/auth"
)

// needs is the role that each route needs. New refuses to make a server with a route that is not here.
var needs = map[string]auth.Role{
	"GET /healthz":      auth.Anyone,
	"GET /readyz":       auth.Anyone,
	"GET /openapi.yaml": auth.Anyone,
	"GET /metrics":      auth.Viewer,

	"GET /login":   auth.Anyone,
	"POST /login":  auth.Anyone,
	"POST /logout": auth.Anyone,

	"GET /api/v1/summary":                 auth.Viewer,
	"GET /api/v1/sites":                   auth.Viewer,
	"GET /api/v1/sites/:name":             auth.Viewer,
	"GET /api/v1/services":                auth.Viewer,
	"GET /api/v1/distances":               auth.Viewer,
	"GET /api/v1/ways":                    auth.Viewer,
	"GET /api/v1/ways/own":                auth.Viewer,
	"GET /api/v1/acceptance":              auth.Viewer,
	"GET /api/v1/history":                 auth.Viewer,
	"GET /api/v1/cuts":                    auth.Viewer,
	"GET /api/v1/cuts/:id":                auth.Viewer,
	"POST /api/v1/sites/:name/resume":     auth.Operator,
	"GET /api/v1/sites/:name/preview":     auth.Viewer,
	"POST /api/v1/sites/:name/confirm":    auth.Operator,
	"POST /api/v1/sites/:name/reject":     auth.Operator,
	"DELETE /api/v1/sites/:name":          auth.Admin,
	"PUT /api/v1/sites/:name/certificate": auth.Admin,
	"POST /api/v1/sites/:name/retire":     auth.Admin,
	"POST /api/v1/sites/:name/revoke":     auth.Admin,
	"GET /api/v1/authorities":             auth.Viewer,
	"POST /api/v1/authorities":            auth.Admin,
	"DELETE /api/v1/authorities/:key":     auth.Admin,
	"POST /api/v1/authorities/requests":   auth.Operator, // changes nothing: what it asks for is to be signed yet
	"POST /api/v1/authorities/answers":    auth.Operator, // changes only what an authority has signed
	"GET /api/v1/invitations":             auth.Viewer,
	"POST /api/v1/invitations":            auth.Admin,
	"DELETE /api/v1/invitations/:id":      auth.Admin,
	"GET /api/v1/zones":                   auth.Viewer,
	"PUT /api/v1/zones/:name":             auth.Operator,
	"DELETE /api/v1/zones/:name":          auth.Operator,
	"GET /api/v1/objects":                 auth.Operator, // the application is asked with the agent's own credentials
	"GET /api/v1/resources":               auth.Viewer,
	"POST /api/v1/resources":              auth.Operator,
	"GET /api/v1/resources/:id":           auth.Viewer,
	"PATCH /api/v1/resources/:id":         auth.Operator,
	"GET /api/v1/resources/:id/replicas":  auth.Viewer,
	"GET /api/v1/resources/:id/division":  auth.Viewer,
	"POST /api/v1/resources/:id/restore":  auth.Operator,
	"POST /api/v1/resources/:id/check":    auth.Operator,
	"POST /api/v1/resources/:id/keep":     auth.Operator,
	"POST /api/v1/resources/:id/pause":    auth.Operator,
	"POST /api/v1/resources/:id/resume":   auth.Operator,
	"GET /api/v1/conflicts":               auth.Viewer,
	"GET /api/v1/conflicts/:id":           auth.Viewer,
	"GET /api/v1/conflicts/:id/replicas":  auth.Viewer,
	"POST /api/v1/conflicts/:id/resolve":  auth.Operator,
	"GET /api/v1/relations":               auth.Viewer,
	"GET /api/v1/operations":              auth.Viewer,
	"POST /api/v1/operations":             auth.Operator,
	"GET /api/v1/operations/:id":          auth.Viewer,
	"POST /api/v1/operations/:id/retry":   auth.Operator,
	"POST /api/v1/operations/:id/done":    auth.Operator,
	"POST /api/v1/operations/:id/drop":    auth.Operator,
	"POST /api/v1/scope/explain":          auth.Viewer, // changes nothing
	"GET /api/v1/events":                  auth.Viewer,
	"GET /api/v1/events/log":              auth.Viewer,
	"GET /api/v1/mesh/isolation":          auth.Viewer,
	"POST /api/v1/mesh/isolation":         auth.Admin,
	"GET /api/v1/tokens":                  auth.Viewer, // one's own
	"POST /api/v1/links":                  auth.Admin,
	"POST /api/v1/tokens":                 auth.Viewer, // of no more than one's own role
	"DELETE /api/v1/tokens/:id":           auth.Viewer, // one's own
	"GET /api/v1/audit":                   auth.Admin,
	"GET /api/v1/audit/verify":            auth.Admin,
	"GET /api/v1/debug/configuration":     auth.Admin,
	"GET /api/v1/debug/profiles/:name":    auth.Admin,
	"GET /api/v1/debug/log-level":         auth.Admin,
	"PUT /api/v1/debug/log-level":         auth.Admin,
	"GET /api/v1/hooks":                   auth.Admin,
	"POST /api/v1/hooks":                  auth.Admin,
	"DELETE /api/v1/hooks/:id":            auth.Admin,
	"GET /api/v1/hooks/:id/deliveries":    auth.Admin,

	"GET /":                              auth.Viewer,
	"GET /sites":                         auth.Viewer,
	"POST /sites/invitations":            auth.Admin,
	"POST /sites/invitations/:id/revoke": auth.Admin,
	"POST /sites/zones":                  auth.Operator,
	"POST /sites/zones/:name/delete":     auth.Operator,
	"POST /sites/isolation":              auth.Admin,
	"GET /sites/:name":                   auth.Viewer,
	"POST /sites/:name/confirm":          auth.Operator,
	"POST /sites/:name/reject":           auth.Operator,
	"POST /sites/:name/retire":           auth.Admin,
	"POST /sites/:name/revoke":           auth.Admin,
	"POST /sites/:name/resume":           auth.Operator,
	"GET /authorities":                   auth.Viewer,
	"POST /authorities":                  auth.Admin,
	"POST /authorities/certificates":     auth.Admin,
	"POST /authorities/:key/remove":      auth.Admin,
	"GET /resources":                     auth.Viewer,
	"GET /resources/:id":                 auth.Viewer,
	"GET /resources/:id/differences":     auth.Viewer,
	"GET /objects":                       auth.Operator,
	"GET /names":                         auth.Viewer,
	"POST /objects":                      auth.Operator,
	"POST /resources/selected":           auth.Operator,
	"POST /resources/:id/restore":        auth.Operator,
	"POST /resources/:id/place":          auth.Operator,
	"POST /resources/:id/keep":           auth.Operator,
	"POST /resources/:id/check":          auth.Operator,
	"POST /resources/:id/pause":          auth.Operator,
	"POST /resources/:id/resume":         auth.Operator,
	"GET /history":                       auth.Viewer,
	"GET /cuts/:id":                      auth.Viewer,
	"GET /ways":                          auth.Viewer,
	"GET /relations":                     auth.Viewer,
	"GET /decisions":                     auth.Viewer,
	"POST /decisions":                    auth.Operator,
	"POST /decisions/plan":               auth.Operator, // changes nothing, and asks the applications
	"GET /conflicts":                     auth.Viewer,
	"GET /conflicts/:id":                 auth.Viewer,
	"POST /conflicts/:id":                auth.Operator,
	"GET /operations":                    auth.Viewer,
	"GET /operations/:id":                auth.Viewer,
	"POST /operations/:id/retry":         auth.Operator,
	"POST /operations/:id/done":          auth.Operator,
	"POST /operations/:id/drop":          auth.Operator,
	"GET /compose":                       auth.Viewer,
	"POST /compose":                      auth.Operator,
	"POST /compose/check":                auth.Viewer, // changes nothing
	"GET /events":                        auth.Viewer,
	"GET /live":                          auth.Viewer,
	"GET /audit":                         auth.Admin,
	"GET /settings":                      auth.Viewer,
	"POST /settings/tokens":              auth.Viewer, // of no more than one's own role
	"POST /settings/tokens/:id/revoke":   auth.Viewer, // one's own
	"POST /settings/hooks":               auth.Admin,
	"GET /settings/hooks/:id":            auth.Admin,
	"POST /settings/hooks/:id/remove":    auth.Admin,
}

// Need is the role that a request to a route needs. What the style sheet and scripts say is no secret; what is on no route needs
// a role too, so that nobody learns from outside what there is.
func Need(method, route string) (role auth.Role, declared bool) {
	if strings.HasPrefix(route, "/static/") {
		return auth.Anyone, true
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if role, declared = needs[method+" "+route]; !declared {
		role = auth.Viewer
	}
	return role, declared
}

// undeclared is an error when a route has no policy, or a policy no route.
func undeclared(routes []*echo.Route) error {
	served := map[string]bool{}
	for _, r := range routes {
		served[r.Method+" "+r.Path] = true
		if _, declared := Need(r.Method, r.Path); !declared {
			return fmt.Errorf("no policy says who may use %s %s", r.Method, r.Path)
		}
	}
	for route := range needs {
		if !served[route] {
			return fmt.Errorf("there is a policy for %s, which is not served", route)
		}
	}
	return nil
}

// identify finds out who makes a request.
func (s *Server) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		p, err := s.auth.Identify(r)
		if err != nil {
			return err
		}
		c.SetRequest(r.WithContext(auth.With(r.Context(), p)))
		return next(c)
	}
}

// authorize lets a request through when whoever makes it has the role that its route needs.
func (s *Server) authorize(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		p := auth.From(r.Context())
		role, _ := Need(r.Method, c.Path())
		switch {
		case p.Role >= role:
			return next(c)
		case p.Role == auth.Anyone:
			return s.askToLogIn(c)
		}
		return &engine.Refusal{Status: http.StatusForbidden, Type: "forbidden", Detail: fmt.Sprintf(
			"this needs the role %s, and %s is %s; nothing has happened", role, p, p.Role)}
	}
}

// askToLogIn sends people to the page where they log in and tells programs what to do.
func (s *Server) askToLogIn(c echo.Context) error {
	r, h := c.Request(), c.Response().Header()
	login := "/login"
	if r.Method == http.MethodGet && r.URL.Path != "/" && r.URL.Path != "/live" {
		login += "?next=" + url.QueryEscape(r.URL.RequestURI())
	}
	switch {
	case r.Header.Get("HX-Request") == "true": // the page that reloads a part of itself
		h.Set("HX-Redirect", login)
	case wantsPage(r):
		return c.Redirect(http.StatusSeeOther, login)
	}
	h.Set("WWW-Authenticate", `Bearer realm="Skerry"`)
	return &engine.Refusal{Status: http.StatusUnauthorized, Type: "unauthenticated",
		Detail: "this site wants to know who asks: log in at /login, or give a token (--token-file, SKERRY_TOKEN) as Authorization: Bearer"}
}

// wantsPage reports whether a request is a browser's that shows what it gets to a person.
func wantsPage(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/html") && !strings.HasPrefix(r.URL.Path, "/api/")
}
