package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/glue"
	"github.com/skerry/skerry/web/webtest/served"
)

// related puts a resource at paris and others, with references written as "relation service.kind/id".
func related(f *served.Server, service, kind, id string, sites []engine.SiteID, refs ...string) {
	row := engine.ResourceRow{ID: engine.ResourceID(id), Service: engine.ServiceName(service), Kind: engine.KindName(kind), Collaboration: "replication",
		Local: engine.LocalID(id), State: engine.StateConverged, CreatedAt: time.Now(), UpdatedAt: time.Now(), Sites: map[engine.SiteID]engine.ReplicaStatus{}}
	for _, s := range sites {
		row.Sites[s] = engine.ReplicaStatus{Local: engine.LocalID(id), State: engine.StateConverged}
	}
	for i, r := range refs {
		var relation, to, name string
		_, _ = fmt.Sscan(strings.NewReplacer(".", " ", "/", " ").Replace(r), &relation, &to, &name, &id)
		row.Relations = append(row.Relations, engine.Relation{Target: engine.Target{Service: engine.ServiceName(to), Kind: engine.KindName(name), ID: engine.ResourceID(id)},
			At: engine.Pointer(fmt.Sprintf("/ref/%d", i)), Type: engine.RelationType(relation)})
	}
	f.Site.AddResource(row)
}

// graph asks for a graph and writes it with one edge a word.
func graph(f *served.Server, query string) (root string, nodes int, edges string) {
	v := f.Want(200, "GET", "/api/v1/relations"+query, "")
	var words []string
	for _, e := range v["edges"].([]any) {
		e := e.(map[string]any)
		short := func(key string) string { _, id, _ := strings.Cut(e[key].(string), "/"); return id }
		word := short("from") + ">" + short("to")
		if w := e["warning"].(string); w != "" {
			word += "(" + w + ")"
		}
		words = append(words, word)
	}
	return v["root"].(string), len(v["nodes"].([]any)), strings.Join(words, " ")
}

func TestRelations(t *testing.T) {
	f := served.Start(t)
	both := []engine.SiteID{self, served.Nantes}
	related(f, "images", "image", "debian", both)
	related(f, "networks", "network", "front", []engine.SiteID{self})
	related(f, "servers", "server", "web", both, "requirement images.image/debian", "reliance networks.network/front", "reliance networks.network/elsewhere")
	related(f, "servers", "server", "db", both, "requirement images.image/debian")
	related(f, "servers", "server", "alone", both)

	root, nodes, edges := graph(f, "?resource=web")
	if root != "servers.server/web" || nodes != 4 || edges != "web>debian web>front(no replica at nantes) web>elsewhere" {
		t.Errorf("%s with %d nodes: %s", root, nodes, edges)
	}
	if _, nodes, edges := graph(f, "?resource=debian"); nodes != 3 || edges != "db>debian web>debian" {
		t.Errorf("%d nodes: %s", nodes, edges)
	}
	if _, nodes, edges := graph(f, "?resource=elsewhere&service=networks&kind=network"); nodes != 2 || edges != "web>elsewhere" {
		t.Errorf("%d nodes: %s", nodes, edges)
	}
	if root, nodes, edges := graph(f, ""); root != "" || nodes != 5 || edges != "db>debian web>debian web>front(no replica at nantes) web>elsewhere" {
		t.Errorf("%d nodes: %s", nodes, edges)
	}
	if v := f.Want(200, "GET", "/api/v1/relations?limit=1", ""); v["next"] == "" || len(v["edges"].([]any)) != 1 {
		t.Errorf("a page of one: %v", v)
	}
	if v := f.Want(200, "GET", "/api/v1/resources/front", "")["relations"].([]any); len(v) != 1 || v[0].(map[string]any)["from"] != "servers.server/web" {
		t.Errorf("relations of a resource: %v", v)
	}
	// An object of this site alone, and one that is replicated and known already.
	front := engine.Relation{Target: engine.Target{Service: "networks", Kind: "network", ID: "front"}, At: "/network", Type: engine.RelationReliance}
	f.Site.Refer(glue.Referrer{Target: engine.Target{Service: "servers", Kind: "server", ID: "42"}, By: front})
	f.Site.Refer(glue.Referrer{Target: engine.Target{Service: "servers", Kind: "server", ID: "web"}, Replicated: true, By: front})
	v := f.Want(200, "GET", "/api/v1/relations?resource=front", "")
	if last := v["nodes"].([]any)[2].(map[string]any); len(v["nodes"].([]any)) != 3 || last["id"] != "42" || last["shared"] != false || fmt.Sprint(last["sites"]) != "[paris]" {
		t.Errorf("nodes: %v", v["nodes"])
	}
	// What the application makes along with it, and with that.
	port, wire := engine.Target{Service: "networks", Kind: "network", ID: "port"}, engine.Target{Service: "networks", Kind: "network", ID: "wire"}
	along := func(owner, t engine.Target) {
		f.Site.Make(owner, glue.Referrer{Target: t, By: engine.Relation{Target: t, At: "/owners/0", Type: engine.RelationComposition}})
	}
	along(front.Target, port)
	along(port, wire)
	along(wire, port) // nobody should
	if _, nodes, edges := graph(f, "?resource=front"); nodes != 5 || !strings.Contains(edges, "front>port") || !strings.Contains(edges, "port>wire") {
		t.Errorf("%d nodes: %s", nodes, edges)
	}
	f.Site.SetFault(func(method string) error {
		if method == "Referring" {
			return errors.New("read the lists of servers.server (it answered 503 Service Unavailable)")
		}
		return nil
	})
	if v := f.Want(200, "GET", "/api/v1/relations?resource=front", ""); !strings.Contains(fmt.Sprint(v["unknown"]), "could not read the lists of servers.server (it answered 503 Service Unavailable)") {
		t.Errorf("it says %v", v["unknown"])
	}
	f.Problem(404, "not-found", "no resource", "GET", "/api/v1/relations?resource=elsewhere", "")
	f.Problem(422, "unknown-service", "no service", "GET", "/api/v1/relations?resource=web&service=server", "")
	f.Problem(400, "bad-request", "depth", "GET", "/api/v1/relations?resource=web&depth=3", "")
}

// TestRelationsInCircles asks for graphs that go round, and for one that is too large.
func TestRelationsInCircles(t *testing.T) {
	f := served.Start(t)
	here := []engine.SiteID{self}
	related(f, "networks", "network", "a", here, "reliance networks.network/b")
	related(f, "networks", "network", "b", here, "reliance networks.network/a")
	related(f, "networks", "network", "self", here, "reliance networks.network/self")
	if _, nodes, edges := graph(f, "?resource=a"); nodes != 2 || edges != "a>b b>a" {
		t.Errorf("%d nodes: %s", nodes, edges)
	}
	if _, nodes, edges := graph(f, "?resource=self"); nodes != 1 || edges != "self>self" {
		t.Errorf("%d nodes: %s", nodes, edges)
	}
	for i := range 300 {
		related(f, "servers", "server", fmt.Sprintf("s%d", i), here, "reliance networks.network/wide")
	}
	related(f, "networks", "network", "wide", here)
	v := f.Want(200, "GET", "/api/v1/relations?resource=wide", "")
	if n := len(v["nodes"].([]any)); n != 200 || len(v["unknown"].([]any)) == 0 {
		t.Errorf("%d nodes, and it says %v", n, v["unknown"])
	}
}
