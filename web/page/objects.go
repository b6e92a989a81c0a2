package page

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/builder"
	"github.com/skerry/skerry/web/shape"
)

// objectsShown is how many objects a page has: among more one searches.
const objectsShown = 200

// objectsModel is what only this site has of one kind, and where it is to be shared.
type objectsModel struct {
	Kinds            []string // service.kind
	Kind, Text       string
	List             api.ObjectList
	NotListed        string // why the application's list is not there
	Build            builderModel
	Done             string
	Wrong            []string
	ID               string
	Service, KindOne string
	Others           []shape.Site // those that have told where their own pages are
}

// objects lists what only this site has, so that it can be shared from here.
func (p *Page) objects(c echo.Context) error {
	return p.showObjects(c, http.StatusOK, objectsModel{Kind: c.QueryParam("kind"), Text: c.QueryParam("q")})
}

func (p *Page) showObjects(c echo.Context, status int, m objectsModel) error {
	m.Kinds = p.kindNames()
	if m.Kind == "" && len(m.Kinds) > 0 {
		m.Kind = m.Kinds[0]
	}
	m.Service, m.KindOne, _ = strings.Cut(m.Kind, ".")
	list, err := p.api.Objects(c.Request().Context(), m.Service, m.KindOne, m.Text)
	if err != nil {
		r, told := refusalOf(err)
		if !told {
			return p.Fail(c, err)
		}
		m.NotListed = r.Detail
	}
	m.List = list
	sites, err := p.api.SiteStates(c.Request().Context())
	if err != nil {
		return p.Fail(c, err)
	}
	m.Others = slices.DeleteFunc(sites, func(s shape.Site) bool { return s.Self || s.State == nil || s.State.Dashboard == "" })
	build, self := p.builder(m.Service), p.api.SelfName()
	build.Choice = m.Build.Choice
	build.Places = slices.DeleteFunc(build.Places, func(at place) bool { return at.Name == self })
	m.Build = build
	f := p.frame(c, "Only at "+self, "resources", with("/api/v1/objects", url.Values{"service": {m.Service}, "kind": {m.KindOne}}, "q", m.Text))
	f.Reload = "" // asking the application again with each event would be a burden, and what is selected must stay
	return render(c, status, objectsView(f, m))
}

// share makes resources of the objects that were selected, with a copy at each of the sites that were chosen.
func (p *Page) share(c echo.Context) error {
	ctx, form := c.Request().Context(), c.Request().PostForm
	m := objectsModel{Kind: form.Get("kind"), Text: form.Get("q")}
	m.Build.Choice = choiceOf(form)
	ids := form["pick"]
	if id := strings.TrimSpace(form.Get("id")); id != "" {
		ids = append(ids, id)
	}
	if len(ids) == 0 || len(m.Build.Choice.Sites) == 0 {
		m.ID, m.Wrong = form.Get("id"), []string{"Choose what is to be shared, and with which sites: nothing has happened."}
		return p.showObjects(c, http.StatusBadRequest, m)
	}
	var last api.Adopted
	done := 0
	for _, id := range ids {
		v, err := p.adopt(ctx, m, id)
		if err == nil {
			last = v
			done++
			continue
		}
		r, told := refusalOf(err)
		if !told {
			return p.Fail(c, err)
		}
		m.Wrong = append(m.Wrong, id+": "+r.Detail)
	}
	switch {
	case done == 1 && len(ids) == 1:
		return c.Redirect(http.StatusSeeOther, resourceURL(last.Resource.ID, last.Resource.Service, last.Resource.Kind))
	case done == 0:
		m.ID = form.Get("id")
		return p.showObjects(c, http.StatusConflict, m)
	}
	m.Done = nResources(done) + " made of them: the other sites get their copies now."
	return p.showObjects(c, http.StatusOK, m)
}

func (p *Page) adopt(ctx context.Context, m objectsModel, id string) (api.Adopted, error) {
	service, kind, _ := strings.Cut(m.Kind, ".")
	at := builder.Choice{Shape: builder.Copies, Sites: append([]string{p.api.SelfName()}, m.Build.Choice.Sites...)}
	return p.api.Adopt(ctx, api.AdoptRequest{Service: service, Kind: kind, ID: id, Scope: at.Scope(service, nil)}, "")
}

// titleOfObject is what people call an object.
func titleOfObject(o api.Object) string { return cmp.Or(o.Label, o.ID) }

// objectsAt is the address of the same view at another site.
func objectsAt(dashboard, kind string) string {
	return with(viewAt(dashboard, "/objects"), nil, "kind", kind)
}
