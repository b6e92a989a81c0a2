package page

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// pageSize is how many rows a list shows.
const pageSize = 50

// listModel is what a list's filters are made of.
type listModel struct {
	Path                   string
	Query                  url.Values
	Services, Kinds, Sites []string
	// Params are those of the query that make the view: what is saved of it.
	Params []string
	Total  int
	States []facet
	// Done tells what became of what was selected, Wrong what of it was refused and why.
	Done  string
	Wrong []string
}

// facet is one value of a filter, and how much the list has with it.
type facet struct {
	Value string
	N     int
}

// Filtered reports whether anything but the page and the order is asked for.
func (m listModel) Filtered() bool {
	for name, v := range m.Query {
		if name != "cursor" && name != "order" && len(v) > 0 && v[0] != "" {
			return true
		}
	}
	return false
}

// Address is this list with some parameters changed, from its first page on.
func (m listModel) Address(pairs ...string) string {
	return with(m.Path, pick(m.Query, m.Params...), pairs...)
}

// Order is the order that is shown.
func (m listModel) Order() string { return cmp.Or(m.Query.Get("order"), "newest") }

// sorting is a column's head by which the list can be ordered: where the link leads, and which way it goes now.
type sorting struct{ To, Aria string }

// Sorting tells of a column with these orders, rising and falling: the link changes between those there are.
func (m listModel) Sorting(rising, falling string) sorting {
	now, other := m.Order(), cmp.Or(falling, rising)
	s := sorting{Aria: "none"}
	switch now {
	case rising:
		s.Aria = "ascending"
	case falling:
		s.Aria, other = "descending", cmp.Or(rising, falling)
	}
	if other == "newest" { // as it is without asking
		other = ""
	}
	s.To = m.Address("order", other)
	return s
}

// facets are the values that a filter can have, those with nothing left out unless they are asked for.
func facets(counts map[string]int, chosen string, order []string) (list []facet) {
	for _, v := range order {
		if counts[v] > 0 || v == chosen {
			list = append(list, facet{v, counts[v]})
		}
	}
	return list
}

// options are the values of a filter that is a list to choose from, each with how much there is.
func options(counts map[string]int) (list []facet) {
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, facet{v, counts[v]})
	}
	return list
}

// inNumbers writes a number with its thousands apart.
func inNumbers(n int) string { return shape.InNumbers(n) }

var (
	resourceParams  = []string{"service", "kind", "site", "state", "q", "order"}
	operationParams = []string{"resource", "service", "kind", "state", "site", "q", "from", "before", "order"}
)

func (p *Page) resources(c echo.Context) error {
	return p.showResources(c, http.StatusOK, c.QueryParams(), listModel{})
}

// resourceQuery reads what a list of resources is to show, and the query of the same as JSON.
func (p *Page) resourceQuery(q url.Values) (query api.ResourceQuery, twin url.Values) {
	query = api.ResourceQuery{Service: q.Get("service"), Kind: q.Get("kind"), Site: q.Get("site"), State: q.Get("state"), Text: q.Get("q"), Order: q.Get("order"),
		Cursor: q.Get("cursor"), Limit: pageSize}
	// One choice says which service's kind is meant.
	if service, kind, both := strings.Cut(query.Kind, "."); both && query.Service == "" && p.hasKind(service, kind) {
		query.Service, query.Kind = service, kind
	}
	twin = pick(q, append([]string{"cursor"}, resourceParams...)...)
	if query.Service != "" && query.Kind != "" {
		twin.Set("service", query.Service)
		twin.Set("kind", query.Kind)
	}
	return query, twin
}

// names lists the names that exactly one site is to hold.
func (p *Page) names(c echo.Context) error {
	q := c.QueryParams()
	query, twin := p.resourceQuery(q)
	query.Names = true
	list, err := p.api.Resources(c.Request().Context(), query)
	if err != nil {
		return p.Fail(c, err)
	}
	m := listModel{Path: "/names", Query: q, Params: resourceParams, Kinds: p.kindNames(), Sites: p.siteOptions()}
	m.Services, _ = p.services()
	return render(c, http.StatusOK, namesView(p.frame(c, "Names", "resources", with("/api/v1/resources", twin, "names", "true")), list, m))
}

func (p *Page) showResources(c echo.Context, status int, q url.Values, m listModel) error {
	query, twin := p.resourceQuery(q)
	query.Count = true
	list, err := p.api.Resources(c.Request().Context(), query)
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Resources", "resources", with("/api/v1/resources", twin, "count", "true"))
	m.Path, m.Query, m.Params, m.Sites = "/resources", q, resourceParams, p.siteOptions()
	m.Services, m.Kinds = p.services()
	m.Total = list.Facets.Total
	m.States = facets(list.Facets.State, query.State, []string{"conflict", "degraded", "converging", "deleting", "unknown", "converged", "deleted", "left"})
	return render(c, status, resourcesView(f, list, m))
}

func (p *Page) hasKind(service, kind string) bool {
	for _, s := range p.api.Services {
		if string(s.Name) == service {
			return slices.ContainsFunc(s.Kinds(), func(k *engine.Kind) bool { return string(k.Name) == kind })
		}
	}
	return false
}

func (p *Page) operations(c echo.Context) error {
	q := c.QueryParams()
	list, err := p.api.Operations(c.Request().Context(), api.OperationQuery{
		Resource: q.Get("resource"), Service: q.Get("service"), Kind: q.Get("kind"), State: q.Get("state"), Site: q.Get("site"), Order: q.Get("order"),
		Text: q.Get("q"), From: q.Get("from"), Before: q.Get("before"), Cursor: q.Get("cursor"), Limit: pageSize, Count: true,
	})
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Operations", "operations", with("/api/v1/operations", pick(q, append([]string{"cursor"}, operationParams...)...), "count", "true"))
	m := listModel{Path: "/operations", Query: q, Params: operationParams, Sites: p.siteOptions(), Total: list.Facets.Total,
		States: facets(list.Facets.State, q.Get("state"), []string{"rejected", "uncertain", "held", "paused", "pending", "superseded", "applied"})}
	return render(c, http.StatusOK, operationsView(f, list, m))
}

// picked is one resource of a list that was selected.
type picked struct {
	api.ResourceRef
	name string
}

// pickValue is what a selected resource is called in the form.
func pickValue(r shape.Resource) string {
	return url.Values{"service": {r.Service}, "kind": {r.Kind}, "id": {r.ID}, "name": {cmp.Or(r.Label, r.ID)}}.Encode()
}

func pickedOf(values []string) (all []picked, err error) {
	for _, v := range values {
		q, err := url.ParseQuery(v)
		if err != nil {
			return nil, echo.NewHTTPError(http.StatusBadRequest, "what was selected cannot be read")
		}
		all = append(all, picked{api.ResourceRef{ID: q.Get("id"), Service: q.Get("service"), Kind: q.Get("kind")}, cmp.Or(q.Get("name"), q.Get("id"))})
	}
	return all, nil
}

// maxReasons is how many refusals are told one by one.
const maxReasons = 5

// selected does one thing with all resources that were selected, and shows the list again with what came of it.
func (p *Page) selected(c echo.Context) error {
	form := c.Request().PostForm
	back, err := url.ParseQuery(form.Get("list"))
	if err != nil {
		return p.Fail(c, echo.NewHTTPError(http.StatusBadRequest, "the list cannot be read"))
	}
	all, err := pickedOf(form["pick"])
	if err != nil {
		return p.Fail(c, err)
	}
	do, word := p.doing(c, form)
	var m listModel
	switch {
	case do == nil:
		return p.Fail(c, echo.NewHTTPError(http.StatusBadRequest, "there is no such action"))
	case len(all) == 0:
		m.Wrong = []string{"Nothing is selected."}
		return p.showResources(c, http.StatusBadRequest, back, m)
	}
	done := 0
	for _, r := range all {
		err := do(r.ResourceRef)
		if err == nil {
			done++
			continue
		}
		why, told := refusalOf(err)
		if !told {
			return p.Fail(c, err)
		}
		m.Wrong = append(m.Wrong, r.name+": "+why.Detail)
	}
	if more := len(m.Wrong) - maxReasons; more > 0 {
		m.Wrong = append(m.Wrong[:maxReasons], fmt.Sprintf("%d more were refused.", more))
	}
	m.Done = fmt.Sprintf("%s %s.", nResources(done), word)
	status := http.StatusOK
	if done == 0 {
		m.Done, status = "", http.StatusConflict
	}
	return p.showResources(c, status, back, m)
}

func nResources(n int) string {
	if n == 1 {
		return "1 resource"
	}
	return inNumbers(n) + " resources"
}

// doing is what is done with each selected resource, and how that is told; nil: there is no such thing.
func (p *Page) doing(c echo.Context, form url.Values) (do func(api.ResourceRef) error, word string) {
	ctx, self, site := c.Request().Context(), p.api.Mesh.Self(), form.Get("site")
	place := func(q api.PlacementRequest) func(api.ResourceRef) error {
		return func(r api.ResourceRef) error { _, err := p.api.Place(ctx, r, self, q); return err }
	}
	switch form.Get("do") {
	case "check":
		return func(r api.ResourceRef) error { _, err := p.api.Check(ctx, r); return err }, "will be looked at by all their sites now"
	case "pause", "resume":
		verb := form.Get("do")
		return func(r api.ResourceRef) error {
			_, err := p.api.SetPause(ctx, r, self, verb, api.PauseRequest{Site: site})
			return err
		}, map[string]string{"pause": "are left as they are at ", "resume": "go on at "}[verb] + cmp.Or(site, p.api.SelfName())
	case "add":
		return place(api.PlacementRequest{Add: []string{site}}), "are to live at " + site + " too"
	case "remove":
		return place(api.PlacementRequest{Remove: []string{site}}), "leave " + site + ", which keeps its objects for itself"
	}
	return nil, ""
}
