package page

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/skerry/skerry/web/api"
	"github.com/skerry/skerry/web/shape"
)

// relations shows what refers to what: all of it page by page, or what belongs to one resource.
func (p *Page) relations(c echo.Context) error {
	q, r := c.QueryParams(), c.Request()
	one := q.Get("resource") != ""
	g, err := p.api.Relations(r.Context(), api.RelationQuery{
		ResourceRef: api.ResourceRef{ID: q.Get("resource"), Service: q.Get("service"), Kind: q.Get("kind")},
		Objects:     one, Header: r.Header, Cursor: q.Get("cursor"), Limit: pageSize,
	})
	if err != nil {
		return p.Fail(c, err)
	}
	f := p.frame(c, "Relations", "relations", with("/api/v1/relations", pick(q, "resource", "service", "kind", "cursor")))
	if one {
		f.Reload = "" // asking the application again with each event would be a burden
	}
	services, kinds := p.services()
	return render(c, http.StatusOK, relationsView(f, g, listModel{Query: q, Services: services, Kinds: kinds}))
}

// titled is a node of a graph by its key.
func titled(g shape.RelationGraph) map[string]shape.RelationNode {
	nodes := make(map[string]shape.RelationNode, len(g.Nodes))
	for _, n := range g.Nodes {
		nodes[n.Key] = n
	}
	return nodes
}

// whereabouts says where a resource is that is not shared with this site.
func whereabouts(n shape.RelationNode) string {
	if len(n.Sites) > 0 {
		return "only at " + strings.Join(n.Sites, ", ")
	}
	return "not shared with this site"
}

// relationMeaning says what a relation is, for people.
func relationMeaning(relation string) string {
	switch relation {
	case "requirement":
		return "needed during an operation"
	case "reliance":
		return "needed as long as the resource lives"
	case "composition":
		return "made and destroyed along by the application"
	}
	return ""
}
