package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
)

// Queue tells whether a site's requests to one service of its application go out.
type Queue struct {
	State  string     `json:"state"` // running, failing, paused
	Since  *time.Time `json:"since"` // nil: since the agent started
	Reason string     `json:"reason"`
	// Waiting counts the resources that wait for it, NextTry is when it is tried next (nil: it runs, or nothing waits). Both are
	// known of the answering site only.
	Waiting int        `json:"waiting"`
	NextTry *time.Time `json:"next_try"`
}

// queues tells of all services of this site; of another, of those that do not let its agent in.
func (a *API) queues(m engine.Member) map[string]Queue {
	all := m.Queues
	if m.ID == a.Mesh.Self() {
		all = a.Operator.Queues()
	}
	list := make(map[string]Queue, len(all))
	for name, q := range all {
		list[string(name)] = Queue{string(q.State), moment(q.Since), q.Reason, q.Waiting, moment(q.Next)}
	}
	return list
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// instant is a time that travelled as Unix microseconds; nil for none.
func instant(microseconds int64) *time.Time {
	if microseconds == 0 {
		return nil
	}
	t := engine.Time(microseconds)
	return &t
}

// ResumeRequest says which service of a site is to be tried again.
type ResumeRequest struct {
	Service string `json:"service,omitempty"` // empty: all of them
}

func (a *API) postResumeSite(c echo.Context) error {
	var r ResumeRequest
	if _, err := params(c); err != nil {
		return err
	}
	name, err := segment(c, "name")
	if err != nil {
		return err
	}
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.ResumeSite(c.Request().Context(), name, a.asker(c), r)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// ResumeSite has a site try services of its application again that fail or do not let its agent in, at once and with one
// request each, for the site from. It returns the site as it shows itself then.
func (a *API) ResumeSite(ctx context.Context, name string, from engine.SiteID, r ResumeRequest) (Site, error) {
	id, err := a.names().id(name)
	if err != nil {
		return Site{}, err
	}
	here, err := a.here(from, id)
	if err != nil {
		return Site{}, err
	}
	if !here {
		var v Site
		err := a.askSite(ctx, id, http.MethodPost, "/sites/"+url.PathEscape(string(id))+"/resume", r, &v)
		v.Self = false // it is that site's own view
		return v, err
	}
	if err := a.Operator.ResumeQueue(engine.ServiceName(r.Service)); errors.Is(err, engine.ErrNotFound) {
		return Site{}, refuse(http.StatusUnprocessableEntity, "unknown-service", "%s has no service %q", a.names().of(id), r.Service)
	} else if err != nil {
		return Site{}, err
	}
	return a.Sites()[0], nil
}
