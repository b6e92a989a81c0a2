package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/auth"
	"github.com/skerry/skerry/web/problem"
)

const (
	elsewhereWait  = 10 * time.Second // for another site's answer to a call that it is to carry out
	elsewhereBytes = 8 << 20          // of that answer
	peerKey        = "skerry-peer"    // of the asking site, in an echo.Context
)

// MountPeers adds the calls that other sites' agents pass on to this one. Their connections have proved who they are: the
// RemoteAddr of a request is a SiteID. They concern this site alone and go no further. The table of calls says who may make which.
func (a *API) MountPeers(e *echo.Echo) {
	g := e.Group("/api/v1", func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			from := engine.SiteID(c.Request().RemoteAddr)
			call := engine.PeerCallOf(c.Request().Method + " " + c.Path())
			if _, ok := a.names().ByID[from]; !ok {
				return refuse(http.StatusForbidden, "stranger", "only members of the mesh are served here")
			}
			if call == nil {
				return echo.ErrNotFound
			}
			if call.Who == engine.HasPart {
				about, err := a.sharedWith(c, from, call.In)
				if err != nil {
					return err
				}
				about.From, about.Act = from, call.Does
				if err := a.lets(about, call.Runs == engine.AsTheAgent); call.Does != "" && err != nil {
					return err
				}
			}
			c.Set(peerKey, from)
			c.SetRequest(c.Request().WithContext(withUser(c.Request().Context(), c.Request().Header.Get(headerUser))))
			return next(c)
		}
	})
	a.mountRouted(g)
}

// lets is a refusal where this site does not accept what another wants done, or lets it be done with the rights of users alone while it would
// be done with the agent's.
func (a *API) lets(w engine.Wish, asAgent bool) error {
	switch v := a.Accepts(w); {
	case !v.Accepted:
		return refuse(http.StatusForbidden, "not-accepted", "%s; nothing has happened", v.Reason)
	case w.Act != engine.ActRead && asAgent && v.As == engine.AsUser:
		return refuse(http.StatusForbidden, "not-accepted", "it would be done with the rights of the agent, and people of other sites have those of users here: %s; nothing has happened", v.Reason)
	}
	return nil
}

// collaborationOf is that of the resource of a document; what belongs to none is shared.
func (a *API) collaborationOf(ctx context.Context, document engine.DocumentID) engine.Collaboration {
	if row, err := a.Store.ResourceByDocument(ctx, document); err == nil {
		return row.Collaboration
	}
	return engine.Sharing
}

// sharedWith tells what a call is about; it is an error, a refusal, where a site has no part in that.
func (a *API) sharedWith(c echo.Context, from engine.SiteID, in engine.Subject) (about engine.Wish, err error) {
	ctx := c.Request().Context()
	if in == engine.InAny {
		rows, _, err := a.Store.Resources(ctx, engine.ResourceFilter{Site: from, Limit: 1})
		if err == nil && len(rows) == 0 {
			err = refuse(http.StatusNotFound, "not-found", "no resource is shared with that site")
		}
		return about, err
	}
	id, err := segment(c, "id")
	if err != nil {
		return about, err
	}
	var document engine.DocumentID
	switch in {
	case engine.InOperation:
		row, err := a.operationFor(ctx, id, from)
		if err != nil {
			return about, err
		}
		about.Service, about.Kind, document = row.Service, row.Kind, row.Document
	case engine.InConflict:
		conflict, err := a.conflictFor(ctx, id, from)
		if err != nil {
			return about, err
		}
		about.Service, about.Kind, document = conflict.Service, conflict.KindName, conflict.Document
	default:
		row, err := a.row(ctx, ResourceRef{id, c.QueryParam("service"), c.QueryParam("kind")})
		if _, part := row.Sites[from]; err != nil || !part {
			return about, refuse(http.StatusNotFound, "not-found", "no resource %q is shared with that site", id)
		}
		return engine.Wish{Service: row.Service, Kind: row.Kind, Scope: row.Collaboration}, nil
	}
	about.Scope = a.collaborationOf(ctx, document)
	return about, nil
}

// mountRouted adds the calls that are carried out by the site that they name.
func (a *API) mountRouted(g *echo.Group) {
	g.POST("/resources/:id/keep", postedTo(http.StatusAccepted, a.postKeep))
	g.POST("/resources/:id/restore", postedTo(http.StatusAccepted, a.postRestore))
	g.POST("/sites/:name/resume", a.postResumeSite)
	g.GET("/conflicts/:id", a.getConflict)
	g.POST("/conflicts/:id/resolve", a.postResolve)
	g.GET("/operations/:id", a.getOperation)
	for _, verb := range Verbs {
		g.POST("/operations/:id/"+verb, func(c echo.Context) error { return a.postSettle(c, verb) })
	}
	for _, verb := range PauseVerbs {
		g.POST("/resources/:id/"+verb, postedTo(http.StatusOK, a.postPause(verb)))
	}
	g.PATCH("/resources/:id", a.patchResource)
	g.GET("/acceptance", a.getAcceptance)
	g.GET("/ways/own", told(a.OwnWays))
	g.GET("/sites/:name/preview", a.getPreview)
	g.POST("/sites/:name/confirm", a.postConfirm)
	g.POST("/sites/:name/reject", a.postReject)
}

// asker is the site that a call comes from: this one, or the one whose agent has passed it on.
func (a *API) asker(c echo.Context) engine.SiteID {
	if id, ok := c.Get(peerKey).(engine.SiteID); ok {
		return id
	}
	return a.Mesh.Self()
}

// here reports whether a call that names site is for this one. What another agent has passed on must be.
func (a *API) here(from, site engine.SiteID) (bool, error) {
	switch self := a.Mesh.Self(); {
	case site == self:
		return true, nil
	case from != self:
		return false, refuse(http.StatusLoopDetected, "loop", "the call is for another site than this one; nothing has happened")
	}
	return false, nil
}

// askSite has another site carry out a call and decodes its answer into v; a refusal of that site is this one's.
func (a *API) askSite(ctx context.Context, site engine.SiteID, method, target string, body, v any) error {
	name := a.names().Of(site)
	cut := name + " cannot be reached"
	if method != http.MethodGet {
		cut += "; nothing has happened"
	}
	if !a.Network.Status()[site].Reachable {
		return refuse(http.StatusServiceUnavailable, "unreachable", "%s", cut)
	}
	ctx, cancel := context.WithTimeout(ctx, elsewhereWait)
	defer cancel()
	var sent io.Reader = http.NoBody
	if body != nil {
		b, err := encode(body)
		if err != nil {
			return fmt.Errorf("ask %s: %w", name, err)
		}
		sent = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+string(site)+"/api/v1"+target, sent)
	if err != nil {
		return fmt.Errorf("ask %s: %w", name, err)
	}
	if body != nil {
		r.Header.Set("Content-Type", echo.MIMEApplicationJSON)
	}
	if user := auth.From(ctx).Account; user != "" {
		r.Header.Set(headerUser, user)
	}
	resp, err := a.Peer.RoundTrip(r)
	switch {
	case errors.Is(err, engine.ErrUnreachable):
		return &engine.Refusal{Status: http.StatusServiceUnavailable, Type: "unreachable", Err: err, Detail: cut}
	case err != nil:
		return uncertainAnswer(name, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, elsewhereBytes))
	if err != nil {
		return uncertainAnswer(name, err)
	}
	if resp.StatusCode >= 300 {
		return refusalOf(name, resp, b)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return uncertainAnswer(name, err)
	}
	return nil
}

func uncertainAnswer(name string, err error) *engine.Refusal {
	return &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "upstream", Err: err,
		Detail: fmt.Sprintf("%s gave no certain answer; look there, and ask again: asking twice does nothing twice", name)}
}

// refusalOf reads what another site has refused.
func refusalOf(name string, resp *http.Response, b []byte) *engine.Refusal {
	var p struct{ Type, Detail string }
	if err := json.Unmarshal(b, &p); err != nil || len(p.Type) <= len(problem.Prefix) {
		return uncertainAnswer(name, fmt.Errorf("it answered %d without a problem", resp.StatusCode))
	}
	return refuse(resp.StatusCode, p.Type[len(problem.Prefix):], "%s: %s", name, p.Detail)
}
