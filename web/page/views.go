package page

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/audit"
	"github.com/skerry/skerry/web/shape"
)

func (p *Page) overview(c echo.Context) error {
	ctx := c.Request().Context()
	s, sites, err := p.api.Overview(ctx)
	if err != nil {
		return p.Fail(c, err)
	}
	recent, err := p.api.Operations(ctx, api.OperationQuery{Limit: 8})
	if err != nil {
		return p.Fail(c, err)
	}
	day, err := p.api.History(ctx, "day")
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Overview", "overview", "/api/v1/summary")
	return render(c, http.StatusOK, overviewView(f, s, sites, recent.Items, pastOf(day)))
}

func (p *Page) sites(c echo.Context) error { return p.showSites(c, http.StatusOK, sitesModel{}) }

// sitesModel is what the view of the sites has beside the sites.
type sitesModel struct {
	Made    *api.Invitation // just now
	Wrong   string          // why a form was refused
	Expires string
	Uses    string
	// Zone and ZoneSites are what a form said that was refused, WrongZone why.
	Zone, ZoneSites, WrongZone string
	Day                        api.History // what the sites had left to do in the last day
}

func (p *Page) showSites(c echo.Context, status int, m sitesModel) error {
	f := p.frame(c, "Sites", "sites", "/api/v1/sites")
	if m.Expires == "" {
		m.Expires, m.Uses = "1h", "1"
	}
	sites, err := p.api.SiteStates(c.Request().Context())
	if err != nil {
		return p.Fail(c, err)
	}
	here := ""
	if len(sites) > maxMapped { // of many, only the ways from here: the map needs no more
		here = p.api.SelfName()
	}
	d, err := p.api.Distances(here)
	if err != nil {
		return p.Fail(c, err)
	}
	if m.Day, err = p.api.History(c.Request().Context(), "day"); err != nil {
		return p.Fail(c, err)
	}
	return render(c, status, sitesView(f, sites, pairsOf(d), p.api.Zones(), p.api.Invitations(), m))
}

// services lists what the catalog has, for forms.
func (p *Page) services() (services, kinds []string) {
	for _, s := range p.api.Services {
		services = append(services, string(s.Name))
		for _, k := range s.Kinds() {
			kinds = append(kinds, string(k.Name))
		}
	}
	return services, kinds
}

// kindNames lists the kinds that the catalog has, each with its service before it.
func (p *Page) kindNames() (all []string) {
	for _, s := range p.api.Services {
		for _, k := range s.Kinds() {
			all = append(all, engineName(s.Name, k.Name))
		}
	}
	return all
}

func (p *Page) siteOptions() []string {
	var names []string
	for _, s := range p.api.Sites() {
		names = append(names, s.Name)
	}
	return names
}

// pick keeps the parameters that the API takes.
func pick(q url.Values, names ...string) url.Values {
	kept := url.Values{}
	for _, n := range names {
		if v := q.Get(n); v != "" {
			kept.Set(n, v)
		}
	}
	return kept
}

// ref reads which resource an address names.
func ref(c echo.Context) (api.ResourceRef, error) {
	id, err := param(c, "id")
	return api.ResourceRef{ID: id, Service: c.QueryParam("service"), Kind: c.QueryParam("kind")}, err
}

// param returns a path parameter, unescaped: Echo matches the escaped path where the two differ.
func param(c echo.Context, name string) (string, error) {
	if c.Request().URL.RawPath == "" {
		return c.Param(name), nil
	}
	s, err := url.PathUnescape(c.Param(name))
	if err != nil {
		return "", echo.NewHTTPError(http.StatusBadRequest, "the path cannot be read")
	}
	return s, nil
}

func (p *Page) resource(c echo.Context) error {
	r, err := ref(c)
	if err != nil {
		return p.Fail(c, err)
	}
	return p.showResource(c, http.StatusOK, r, refused{})
}

// resourceModel is one resource with all that its view shows.
type resourceModel struct {
	api.ResourceDetail
	refused
	Graph       shape.RelationGraph
	Operations  api.OperationList
	Conflicts   []shape.Conflict
	SiteOptions []place // that it may live at
	Other       otherwise
}

// steerable reports whether somebody can say of what is shared how it goes on at a site. A name that exactly one site is to hold is decided
// about, and nothing else.
func steerable(r shape.Resource) bool { return r.Collaboration != "exactly-one" }

// picked reports whether the placement editor has a site ticked.
func (m *resourceModel) picked(site string) bool {
	if m.Picked != nil {
		return slices.Contains(m.Picked, site)
	}
	_, placed := m.Sites[site]
	return placed
}

func (p *Page) showResource(c echo.Context, status int, r api.ResourceRef, why refused) error {
	ctx := c.Request().Context()
	res, err := p.api.ResourceDetail(ctx, r)
	if err != nil {
		return p.Fail(c, err)
	}
	m := resourceModel{ResourceDetail: res, refused: why, SiteOptions: p.builder(res.Service).Places}
	m.Operations, err = p.api.Operations(ctx, api.OperationQuery{Resource: r.ID, Service: res.Service, Kind: res.Kind, Limit: 20, Cursor: c.QueryParam("cursor")})
	if err != nil {
		return p.Fail(c, err)
	}
	exact := api.ResourceRef{ID: res.ID, Service: res.Service, Kind: res.Kind}
	if m.Graph, err = p.api.Relations(ctx, api.RelationQuery{ResourceRef: exact}); err != nil {
		return p.Fail(c, err)
	}
	conflicts, err := p.api.Conflicts(ctx, api.ConflictQuery{Resource: r.ID, Service: res.Service, Kind: res.Kind})
	if err != nil {
		return p.Fail(c, err)
	}
	m.Conflicts = conflicts.Items
	f := p.frame(c, cmp.Or(res.Label, res.ID), "resources", "/api/v1"+resourceURL(res.ID, res.Service, res.Kind))
	if f.operates() && steerable(m.Resource) {
		m.Other = p.otherwise(ctx, exact, &m)
	}
	return render(c, status, resourceView(f, m))
}

func (p *Page) differences(c echo.Context) error {
	r, err := ref(c)
	if err != nil {
		return p.Fail(c, err)
	}
	in := c.Request()
	cmp, err := p.api.Replicas(in.Context(), r, in.Header, in.RemoteAddr)
	if err != nil {
		return p.Fail(c, err)
	}
	address := resourceURL(cmp.ID, cmp.Service, cmp.Kind)
	f := p.frame(c, "Replicas of "+cmp.ID, "resources", "/api/v1/resources/"+url.PathEscape(cmp.ID)+"/replicas?"+
		url.Values{"service": {cmp.Service}, "kind": {cmp.Kind}}.Encode())
	f.Reload = "" // asking every site again with each event would be a burden on their applications
	return render(c, http.StatusOK, differencesView(f, cmp, address))
}

func (p *Page) operation(c echo.Context) error {
	id, err := param(c, "id")
	if err != nil {
		return p.Fail(c, err)
	}
	return p.showOperation(c, http.StatusOK, id, "")
}

func (p *Page) showOperation(c echo.Context, status int, id, wrong string) error {
	ctx := c.Request().Context()
	o, err := p.api.OperationDetail(ctx, id, p.api.Mesh.Self(), "")
	if err != nil {
		return p.Fail(c, err)
	}
	asked := p.askLane(ctx, &o, c.QueryParam("site"))
	conflicts, err := p.conflictsOf(ctx, o.Operation)
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, methodOf(o.Operation)+" "+pathOf(o.Operation), "operations", with("/api/v1"+operationURL(o.ID), pick(c.QueryParams(), "site")))
	way := wayOf(o, f.Site, asked, f.Now)
	f.Moves = way.Open
	return render(c, status, operationView(f, o, way, conflicts, wrong))
}

// askedLane is what another site has told of an operation: when it goes on with it, or why it told nothing.
type askedLane struct {
	Site, Wrong string
	NextTry     *time.Time
}

// askLane puts into o what a site knows of its own attempts.
func (p *Page) askLane(ctx context.Context, o *api.OperationDetail, site string) askedLane {
	if site == "" || site == p.api.SelfName() {
		return askedLane{}
	}
	there, err := p.api.OperationDetail(ctx, o.ID, p.api.Mesh.Self(), site)
	if err != nil {
		return askedLane{Site: site, Wrong: api.AsRefusal(err).Detail}
	}
	if at, ok := there.Sites[site]; ok {
		o.Sites[site] = at
	}
	return askedLane{Site: site, NextTry: there.NextTry}
}

// conflictsOf lists the open conflicts that are about an operation.
func (p *Page) conflictsOf(ctx context.Context, o shape.Operation) ([]shape.Conflict, error) {
	if o.Resource == "" {
		return nil, nil
	}
	list, err := p.api.Conflicts(ctx, api.ConflictQuery{Resource: o.Resource, Service: o.Service, Kind: o.Kind})
	if r, told := refusalOf(err); err != nil && told && r.Status == http.StatusNotFound { // it has left this site
		return nil, nil
	}
	return slices.DeleteFunc(list.Items, func(c shape.Conflict) bool { return c.Operation != o.ID }), err
}

func (p *Page) events(c echo.Context) error {
	before, err := api.ParseBefore(c.QueryParam("before"))
	if err != nil {
		return p.Fail(c, err)
	}
	list, err := p.api.Events(c.Request().Context(), before, pageSize)
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Events", "events", with("/api/v1/events/log", pick(c.QueryParams(), "before"), "limit", strconv.Itoa(pageSize)))
	return render(c, http.StatusOK, eventsView(f, list, before > 0))
}

func (p *Page) audit(c echo.Context) error {
	ctx := c.Request().Context()
	before, err := api.ParseBefore(c.QueryParam("before"))
	if err != nil {
		return p.Fail(c, err)
	}
	list, err := p.api.AuditTrail(ctx, before, pageSize)
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Audit", "audit", with("/api/v1/audit", pick(c.QueryParams(), "before"), "limit", strconv.Itoa(pageSize)))
	var chain *audit.Finding // only when it is asked for: it reads the whole trail
	if c.QueryParam("verify") != "" {
		found, err := p.api.Audit.Verify(ctx, 0, "")
		if err != nil {
			return p.Fail(c, err)
		}
		chain, f.Reload = &found, ""
	}
	return render(c, http.StatusOK, auditView(f, list, chain, before > 0))
}
