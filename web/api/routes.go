package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Mount adds the calls to e. Errors that handlers return are for WriteRefusal.
func (a *API) Mount(e *echo.Echo) {
	e.GET("/healthz", a.healthz)
	e.GET("/readyz", a.readyz)
	e.GET("/openapi.yaml", openAPI)
	e.GET("/metrics", echo.WrapHandler(promhttp.HandlerFor(a.Registry, promhttp.HandlerOpts{})))

	g := e.Group("/api/v1")
	g.GET("/summary", a.getSummary)
	g.GET("/sites", a.getSites)
	g.GET("/invitations", a.getInvitations)
	g.POST("/invitations", a.postInvitation)
	g.DELETE("/invitations/:id", a.deleteInvitation)
	g.GET("/zones", a.getZones)
	g.PUT("/zones/:name", a.putZone)
	g.DELETE("/zones/:name", a.deleteZone)
	g.GET("/resources", a.getResources)
	g.POST("/resources", a.postResource)
	g.GET("/resources/:id", a.getResource)
	g.GET("/resources/:id/replicas", a.getReplicas)
	g.POST("/resources/:id/check", a.postCheck)
	a.mountRouted(g)
	g.GET("/conflicts", a.getConflicts)
	g.GET("/relations", a.getRelations)
	g.GET("/operations", a.getOperations)
	g.POST("/operations", a.postOperation)
	g.GET("/operations/:id", a.getOperation)
	g.POST("/scope/explain", a.postExplain)
	g.GET("/events", a.streamEvents)
	g.GET("/events/log", a.getEvents)
	g.GET("/mesh/isolation", a.getIsolation)
	g.POST("/mesh/isolation", a.postIsolation)
}

func answer(c echo.Context, status int, v any) error {
	b, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Blob(status, echo.MIMEApplicationJSON, b)
}

// encode writes JSON on one line, with the signs of scopes as people wrote them.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func (a *API) getSummary(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	v, err := a.Summary(c.Request().Context())
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) getSites(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	return answer(c, http.StatusOK, a.Sites())
}

func (a *API) getInvitations(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	return answer(c, http.StatusOK, a.Invitations())
}

func (a *API) postInvitation(c echo.Context) error {
	var r InvitationRequest
	if _, err := params(c); err != nil {
		return err
	}
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.Invite(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return answer(c, http.StatusCreated, v)
}

func (a *API) deleteInvitation(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	if err := a.Mesh.Revoke(c.Request().Context(), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (a *API) getResources(c echo.Context) error {
	q, err := params(c, "service", "kind", "site", "state", "q", "limit", "cursor")
	if err != nil {
		return err
	}
	n, err := limit(q)
	if err != nil {
		return err
	}
	v, err := a.Resources(c.Request().Context(), ResourceQuery{
		Service: q.Get("service"), Kind: q.Get("kind"), Site: q.Get("site"), State: q.Get("state"),
		Text: q.Get("q"), Cursor: q.Get("cursor"), Limit: n,
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// resourceRef reads which resource a path and its query name.
func resourceRef(c echo.Context) (ResourceRef, error) {
	q, err := params(c, "service", "kind")
	if err != nil {
		return ResourceRef{}, err
	}
	id, err := segment(c, "id")
	return ResourceRef{id, q.Get("service"), q.Get("kind")}, err
}

func (a *API) getResource(c echo.Context) error {
	ref, err := resourceRef(c)
	if err != nil {
		return err
	}
	v, err := a.ResourceDetail(c.Request().Context(), ref)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) getReplicas(c echo.Context) error {
	ref, err := resourceRef(c)
	if err != nil {
		return err
	}
	r := c.Request()
	v, err := a.Replicas(r.Context(), ref, r.Header, r.RemoteAddr)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) getOperations(c echo.Context) error {
	q, err := params(c, "resource", "service", "kind", "state", "site", "limit", "cursor")
	if err != nil {
		return err
	}
	n, err := limit(q)
	if err != nil {
		return err
	}
	v, err := a.Operations(c.Request().Context(), OperationQuery{
		Resource: q.Get("resource"), Service: q.Get("service"), Kind: q.Get("kind"), State: q.Get("state"),
		Site: q.Get("site"), Cursor: q.Get("cursor"), Limit: n,
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) getOperation(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	v, err := a.Operation(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// issuedOperation is an operation with the answer that its client would have got.
type issuedOperation struct {
	Operation
	Answer Answer `json:"answer"`
}

func (a *API) postOperation(c echo.Context) error {
	var r IssueRequest
	if _, err := params(c); err != nil {
		return err
	}
	if err := decode(c, &r); err != nil {
		return err
	}
	in := c.Request()
	v, err := a.Issue(in.Context(), r, in.Header.Get("Idempotency-Key"), in.RemoteAddr)
	if err != nil {
		return err
	}
	if v.Operation == nil {
		return answer(c, http.StatusOK, map[string]Answer{"answer": v.Answer})
	}
	c.Response().Header().Set("Location", "/api/v1/operations/"+v.Operation.ID)
	return answer(c, http.StatusAccepted, issuedOperation{*v.Operation, v.Answer})
}

func (a *API) postSettle(c echo.Context, verb string) error {
	q, err := params(c, "site")
	if err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	v, err := a.Settle(c.Request().Context(), id, a.asker(c), verb, q.Get("site"))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) postExplain(c echo.Context) error {
	var r ExplainRequest
	if _, err := params(c); err != nil {
		return err
	}
	if err := decode(c, &r); err != nil {
		return err
	}
	v, err := a.Explain(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) getEvents(c echo.Context) error {
	q, err := params(c, "before", "limit")
	if err != nil {
		return err
	}
	n, err := limit(q)
	if err != nil {
		return err
	}
	before, err := ParseBefore(q.Get("before"))
	if err != nil {
		return err
	}
	v, err := a.Events(c.Request().Context(), before, n)
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// ParseBefore reads the cursor of the event log; empty is 0.
func ParseBefore(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	before, err := strconv.ParseUint(s, 10, 63)
	if err != nil || before == 0 {
		return 0, badRequest("before is %q: give an event's id", s)
	}
	return before, nil
}

// isolation is the body of a rehearsed cut.
type isolation struct {
	Isolated *bool `json:"isolated"`
}

func (a *API) getIsolation(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	on := a.Network.Isolated()
	return answer(c, http.StatusOK, isolation{&on})
}

func (a *API) postIsolation(c echo.Context) error {
	var r isolation
	if _, err := params(c); err != nil {
		return err
	}
	if err := decode(c, &r); err != nil {
		return err
	}
	if r.Isolated == nil {
		return badRequest("isolated is missing: give true or false")
	}
	a.Isolate(*r.Isolated)
	return a.getIsolation(c)
}

// Isolate rehearses a cut: the site refuses and closes all connections to others until it is ended.
func (a *API) Isolate(on bool) {
	if a.Network.Isolated() != on {
		a.Log.Info("rehearsing a cut", "isolated", on)
	}
	a.Network.SetIsolated(on)
}

func (a *API) healthz(c echo.Context) error {
	return answer(c, http.StatusOK, map[string]string{"status": "alive", "version": a.Version})
}

func (a *API) readyz(c echo.Context) error {
	if err := a.Ready(); err != nil {
		return refuse(http.StatusServiceUnavailable, "not-ready", "%v", err)
	}
	return answer(c, http.StatusOK, map[string]string{"status": "ready"})
}
