package page

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/api"
)

// pageSize is how many rows a list shows.
const pageSize = 50

func (p *Page) overview(c echo.Context) error {
	ctx := c.Request().Context()
	s, err := p.api.Summary(ctx)
	if err != nil {
		return p.Fail(c, err)
	}
	recent, err := p.api.Operations(ctx, api.OperationQuery{Limit: 8})
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Overview", "overview", "/api/v1/summary")
	return render(c, http.StatusOK, overviewView(f, s, p.api.Sites(), recent.Items))
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
}

func (p *Page) showSites(c echo.Context, status int, m sitesModel) error {
	f := p.frame(c, "Sites", "sites", "/api/v1/sites")
	if m.Expires == "" {
		m.Expires, m.Uses = "1h", "1"
	}
	return render(c, status, sitesView(f, p.api.Sites(), p.api.Zones(), p.api.Invitations(), m))
}

// services lists what the catalog has, for forms.
func (p *Page) services() (services, kinds []string) {
	for _, s := range p.api.Services {
		services = append(services, string(s.Name))
		for _, k := range s.Kinds {
			kinds = append(kinds, string(k.Name))
		}
	}
	return services, kinds
}

func (p *Page) siteOptions() []string {
	var names []string
	for _, s := range p.api.Sites() {
		names = append(names, s.Name)
	}
	return names
}

func (p *Page) resources(c echo.Context) error {
	q := c.QueryParams()
	list, err := p.api.Resources(c.Request().Context(), api.ResourceQuery{
		Service: q.Get("service"), Kind: q.Get("kind"), Site: q.Get("site"), State: q.Get("state"), Text: q.Get("q"),
		Cursor: q.Get("cursor"), Limit: pageSize,
	})
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Resources", "resources", with("/api/v1/resources", pick(q, "service", "kind", "site", "state", "q", "cursor")))
	services, kinds := p.services()
	return render(c, http.StatusOK, resourcesView(f, list, listModel{q, services, kinds, p.siteOptions()}))
}

// listModel is what a list's filters are made of.
type listModel struct {
	Query                  url.Values
	Services, Kinds, Sites []string
}

// Filtered reports whether anything but the page is asked for.
func (m listModel) Filtered() bool {
	for name, v := range m.Query {
		if name != "cursor" && len(v) > 0 && v[0] != "" {
			return true
		}
	}
	return false
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
	ctx := c.Request().Context()
	r, err := ref(c)
	if err != nil {
		return p.Fail(c, err)
	}
	res, err := p.api.Resource(ctx, r)
	if err != nil {
		return p.Fail(c, err)
	}
	ops, err := p.api.Operations(ctx, api.OperationQuery{Resource: r.ID, Service: res.Service, Kind: res.Kind, Limit: 20, Cursor: c.QueryParam("cursor")})
	if err != nil {
		return p.Fail(c, err)
	}
	g, err := p.api.Relations(ctx, api.RelationQuery{ResourceRef: api.ResourceRef{ID: res.ID, Service: res.Service, Kind: res.Kind}})
	if err != nil {
		return p.Fail(c, err)
	}
	twin := "/api/v1" + resourceURL(res.ID, res.Service, res.Kind)
	return render(c, http.StatusOK, resourceView(p.frame(c, res.ID, "resources", twin), res, g, ops))
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

func (p *Page) operations(c echo.Context) error {
	q := c.QueryParams()
	list, err := p.api.Operations(c.Request().Context(), api.OperationQuery{
		Resource: q.Get("resource"), Service: q.Get("service"), Kind: q.Get("kind"), State: q.Get("state"), Site: q.Get("site"),
		Cursor: q.Get("cursor"), Limit: pageSize,
	})
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Operations", "operations", with("/api/v1/operations", pick(q, "resource", "service", "kind", "state", "site", "cursor")))
	return render(c, http.StatusOK, operationsView(f, list, listModel{Query: q, Sites: p.siteOptions()}))
}

func (p *Page) operation(c echo.Context) error {
	id, err := param(c, "id")
	if err != nil {
		return p.Fail(c, err)
	}
	return p.showOperation(c, http.StatusOK, id, "")
}

func (p *Page) showOperation(c echo.Context, status int, id, wrong string) error {
	o, err := p.api.Operation(c.Request().Context(), id)
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, o.Method+" "+o.Path, "operations", "/api/v1"+operationURL(o.ID))
	return render(c, status, operationView(f, o, wayOf(o, f.Now), wrong))
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
