package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/shape"
)

// Mount adds the calls to e. Errors that handlers return are for WriteRefusal.
func (a *API) Mount(e *echo.Echo) {
	e.GET("/healthz", a.healthz)
	e.GET("/readyz", a.readyz)
	e.GET("/openapi.yaml", openAPI)
	e.GET("/metrics", echo.WrapHandler(promhttp.HandlerFor(a.Registry, promhttp.HandlerOpts{})))

	g := e.Group("/api/v1")
	g.GET("/summary", told(a.Summary))
	g.GET("/sites", a.getSites)
	g.GET("/sites/:name", a.getSite)
	g.GET("/distances", a.getDistances)
	g.GET("/ways", a.getWays)
	g.GET("/history", a.getHistory)
	g.GET("/cuts", told(a.Cuts))
	g.GET("/cuts/:id", a.getCut)
	g.GET("/services", a.getServices)
	g.DELETE("/sites/:name", a.takeOut(a.Mesh.RemoveSite))
	g.POST("/sites/:name/retire", a.takeOut(a.Mesh.RemoveSite))
	g.POST("/sites/:name/revoke", a.takeOut(a.Mesh.RevokeSite))
	g.PUT("/sites/:name/certificate", a.putCertificate)
	g.GET("/authorities", told(a.Authorities))
	g.POST("/authorities", posted(http.StatusCreated, a.AddAuthority))
	g.DELETE("/authorities/:key", removed("key", a.RemoveAuthority))
	g.POST("/authorities/requests", posted(http.StatusOK, a.RequestToSign))
	g.POST("/authorities/answers", posted(http.StatusOK, a.ApplyAnswer))
	g.GET("/invitations", a.getInvitations)
	g.POST("/invitations", posted(http.StatusCreated, a.Invite))
	g.DELETE("/invitations/:id", removed("id", a.Mesh.Revoke))
	g.GET("/zones", a.getZones)
	g.PUT("/zones/:name", a.putZone)
	g.DELETE("/zones/:name", removed("name", a.removeZone))
	g.GET("/objects", a.getObjects)
	g.GET("/resources", a.getResources)
	g.POST("/resources", a.postResource)
	g.GET("/resources/:id", a.getResource)
	g.GET("/resources/:id/replicas", a.getReplicas)
	g.GET("/resources/:id/division", a.getDivision)
	g.POST("/resources/:id/check", a.postCheck)
	a.mountRouted(g)
	g.GET("/conflicts", a.getConflicts)
	g.GET("/conflicts/:id/replicas", a.getConflictSides)
	g.GET("/relations", a.getRelations)
	g.GET("/operations", a.getOperations)
	g.POST("/operations", a.postOperation)
	g.POST("/scope/explain", posted(http.StatusOK, a.Explain))
	g.GET("/events", a.streamEvents)
	g.GET("/events/log", logged(a.Events))
	g.GET("/mesh/isolation", a.getIsolation)
	g.POST("/mesh/isolation", a.postIsolation)
	g.GET("/audit", logged(a.AuditTrail))
	g.GET("/audit/verify", a.verifyAudit)
	g.GET("/debug/configuration", a.getConfiguration)
	g.GET("/debug/profiles/:name", a.getProfile)
	g.GET("/debug/log-level", a.getLogLevel)
	g.PUT("/debug/log-level", a.putLogLevel)
	g.GET("/hooks", told(a.ListHooks))
	g.POST("/hooks", posted(http.StatusCreated, a.AddHook))
	g.DELETE("/hooks/:id", removed("id", a.Hooks.Remove))
	g.GET("/hooks/:id/deliveries", a.getDeliveries)
	g.GET("/tokens", told(a.Tokens))
	g.POST("/tokens", posted(http.StatusCreated, a.MakeToken))
	g.POST("/links", posted(http.StatusCreated, a.MakeLink))
	g.DELETE("/tokens/:id", removed("id", a.revokeToken))
}

// Probes answers what asks whether the site works, and for its metrics, and nothing else; it wants to know of nobody who asks.
func (a *API) Probes() http.Handler {
	metrics := promhttp.HandlerFor(a.Registry, promhttp.HandlerOpts{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "alive\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := a.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	mux.Handle("GET /metrics", metrics)
	return mux
}

func answer(c echo.Context, status int, v any) error {
	b, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store")
	if c.Request().Method == http.MethodGet && status == http.StatusOK {
		sum := sha256.Sum256(b)
		tag := `"` + hex.EncodeToString(sum[:12]) + `"`
		h.Set("ETag", tag)
		if matches(c.Request().Header.Values("If-None-Match"), tag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return c.Blob(status, echo.MIMEApplicationJSON, b)
}

// matches reports whether a client has the answer of that tag already (RFC 9110, section 13.1.2).
func matches(values []string, tag string) bool {
	for _, v := range values {
		for one := range strings.SplitSeq(v, ",") {
			if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// encode writes JSON on one line, with the signs of scopes as people wrote them.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

func (a *API) getSites(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	v, err := a.SiteStates(c.Request().Context())
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) getSite(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	id, err := a.siteParam(c)
	if err != nil {
		return err
	}
	sites, err := a.SiteStates(c.Request().Context())
	if err != nil {
		return err
	}
	for _, s := range sites {
		if s.PeerID == string(id) {
			return answer(c, http.StatusOK, s)
		}
	}
	return refuse(http.StatusNotFound, "not-found", "the mesh has no site %q", c.Param("name"))
}

// takeOut answers before the site has left every placement.
func (a *API) takeOut(do func(context.Context, engine.SiteID) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		if _, err := params(c); err != nil {
			return err
		}
		id, err := a.siteParam(c)
		if err != nil {
			return err
		}
		if err := do(c.Request().Context(), id); err != nil {
			return err
		}
		return c.NoContent(http.StatusAccepted)
	}
}

func (a *API) getInvitations(c echo.Context) error {
	if _, err := params(c); err != nil {
		return err
	}
	return answer(c, http.StatusOK, a.Invitations())
}

func (a *API) getResources(c echo.Context) error {
	q, err := params(c, "service", "kind", "site", "state", "q", "order", "count", "names", "limit", "cursor")
	if err != nil {
		return err
	}
	n, err := limit(q)
	if err != nil {
		return err
	}
	counted, err := flag(q, "count")
	if err != nil {
		return err
	}
	names, err := flag(q, "names")
	if err != nil {
		return err
	}
	v, err := a.Resources(c.Request().Context(), ResourceQuery{
		Service: q.Get("service"), Kind: q.Get("kind"), Site: q.Get("site"), State: q.Get("state"),
		Text: q.Get("q"), Order: q.Get("order"), Count: counted, Names: names, Cursor: q.Get("cursor"), Limit: n,
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// resourceRef reads which resource a path and its query name.
func resourceRef(c echo.Context, more ...string) (ResourceRef, error) {
	q, err := params(c, append(more, "service", "kind")...)
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
	q, err := params(c, "resource", "service", "kind", "state", "site", "q", "from", "before", "order", "count", "limit", "cursor")
	if err != nil {
		return err
	}
	n, err := limit(q)
	if err != nil {
		return err
	}
	counted, err := flag(q, "count")
	if err != nil {
		return err
	}
	v, err := a.Operations(c.Request().Context(), OperationQuery{
		From: q.Get("from"), Before: q.Get("before"), Order: q.Get("order"), Count: counted,
		Resource: q.Get("resource"), Service: q.Get("service"), Kind: q.Get("kind"), State: q.Get("state"),
		Site: q.Get("site"), Text: q.Get("q"), Cursor: q.Get("cursor"), Limit: n,
	})
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

func (a *API) getOperation(c echo.Context) error {
	q, err := params(c, "site")
	if err != nil {
		return err
	}
	id, err := segment(c, "id")
	if err != nil {
		return err
	}
	v, err := a.OperationDetail(c.Request().Context(), id, a.asker(c), q.Get("site"))
	if err != nil {
		return err
	}
	return answer(c, http.StatusOK, v)
}

// issuedOperation is an operation with the answer that its client would have got.
type issuedOperation struct {
	shape.Operation
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
