package typing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/scope"
	"github.com/skerry/skerry/engine/tree"
	"github.com/skerry/skerry/glue"
)

var (
	network = &engine.Kind{Service: "networks", Name: "network", Collection: "/networks", Item: "/networks/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/id"}}
	zone    = &engine.Kind{Service: "zones", Name: "zone", Collection: "/zones", Item: "/zones/{id}", ID: engine.IDRule{From: engine.IDFromPath}}
	server  = &engine.Kind{Service: "servers", Name: "server", Collection: "/servers", Item: "/servers/{id}", Refs: []engine.Ref{
		{At: "/network", Service: "networks", Kind: "network", Relation: engine.RelationReliance},
		{At: "/zone", Service: "zones", Kind: "zone", Relation: engine.RelationRequirement},
		{At: "/image", Service: "images", Kind: "image", Relation: engine.RelationRequirement},
		{At: "/port", Service: "networks", Kind: "network", Relation: engine.RelationComposition},
	}}
)

// world is what sites have: "site/service/id" with what it shows there. A site in silent does not answer.
type world struct {
	shows      map[string]string
	replicated map[string][]engine.SiteID // by identifier
	silent     map[engine.SiteID]bool
	mu         sync.Mutex
	asked      []string
}

func (w *world) Lookup(_ context.Context, _ *engine.Kind, id string) (engine.ResourceRow, error) {
	sites, ok := w.replicated[id]
	if !ok {
		return engine.ResourceRow{}, engine.ErrNotFound
	}
	row := engine.ResourceRow{ID: engine.ResourceID(id), Sites: map[engine.SiteID]engine.ReplicaStatus{}}
	for _, s := range sites {
		row.Sites[s] = engine.ReplicaStatus{}
	}
	return row, nil
}

func (w *world) ask(_ context.Context, at engine.SiteID, k *engine.Kind, id string, _ http.Header) (Shown, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, string(at))
	body, ok := w.shows[fmt.Sprintf("%s/%s/%s", at, k.Service, id)]
	switch {
	case w.silent[at]:
		return Shown{}, errors.New("silent")
	case !ok:
		return Shown{Status: 404}, nil
	}
	return Shown{Status: 200, Body: []byte(body)}, nil
}

func (w *world) checker() *Checker {
	return &Checker{Self: "paris", Resources: w, Ask: w.ask, Name: func(s engine.SiteID) string { return string(s) },
		Kind: func(_ engine.ServiceName, k engine.KindName) *engine.Kind {
			return map[engine.KindName]*engine.Kind{"network": network, "zone": zone, "server": server}[k]
		},
		Visibility: func(k *engine.Kind) glue.Visibility {
			switch k.Name {
			case "network":
				return glue.Visibility{Scope: glue.VisibilityLocalWhen, At: "/type", Equals: json.RawMessage(`"flat"`)}
			case "zone":
				return glue.Visibility{Scope: glue.VisibilityLocal}
			}
			return glue.Visibility{Scope: glue.VisibilityGlobal}
		}}
}

func TestCheck(t *testing.T) {
	const flat, shared = `{"type":"flat"}`, `{"type":"shared"}`
	for _, tt := range []struct {
		name  string
		w     *world
		scope string
		sites string // that run it
		body  string
		want  string // expected and found of each error, then who cannot be asked
		asked string
	}{
		{"flat there", &world{shows: map[string]string{"nantes/networks/n": flat}}, "{servers: paris, networks: nantes}", "paris", `{"network":"n"}`, "paris/network nantes/network", "nantes"},
		{"shared there", &world{shows: map[string]string{"nantes/networks/n": shared}}, "{servers: paris, networks: nantes}", "paris", `{"network":"n"}`, "", "nantes"},
		{"flat here, run there", &world{shows: map[string]string{"paris/networks/n": flat}}, "nantes", "nantes", `{"network":"n"}`, "nantes/network paris/network", "paris"},
		{"flat where it runs", &world{shows: map[string]string{"nantes/networks/n": flat}}, "nantes", "nantes", `{"network":"n"}`, "", "nantes paris"},
		{"nowhere", &world{}, "nantes", "nantes", `{"network":"n"}`, "", "nantes paris"},
		{"nowhere where the scope says", &world{}, "{servers: paris, networks: nantes}", "paris", `{"network":"n"}`, "", "nantes"},
		{"silent where the scope says", &world{silent: map[engine.SiteID]bool{"nantes": true}}, "{servers: paris, networks: nantes}", "paris", `{"network":"n"}`, "unreachable: nantes", "nantes"},
		{"silent where nobody points", &world{silent: map[engine.SiteID]bool{"nantes": true}}, "nantes", "nantes", `{"network":"n"}`, "", "nantes paris"},
		{"a replica wherever it runs", &world{replicated: map[string][]engine.SiteID{"n": {"paris", "nantes"}}}, "paris & nantes", "paris nantes", `{"network":"n"}`, "", ""},
		{"a flat one without replica there", &world{replicated: map[string][]engine.SiteID{"n": {"paris", "nantes"}}, shows: map[string]string{"paris/networks/n": flat}},
			"paris & lyon", "paris lyon", `{"network":"n"}`, "lyon/network nantes/network, paris/network", "paris"},
		{"the application here is silent", &world{replicated: map[string][]engine.SiteID{"n": {"paris", "nantes"}}, silent: map[engine.SiteID]bool{"paris": true},
			shows: map[string]string{"nantes/networks/n": flat}}, "lyon", "lyon", `{"network":"n"}`, "lyon/network nantes/network, paris/network", "nantes paris"},
		{"all of its sites are silent", &world{replicated: map[string][]engine.SiteID{"n": {"nantes"}}, silent: map[engine.SiteID]bool{"nantes": true}}, "lyon", "lyon", `{"network":"n"}`, "unreachable: nantes", "nantes"},
		{"a name that each site has", &world{shows: map[string]string{"paris/zones/z": "", "nantes/zones/z": ""}}, "paris & nantes", "paris nantes", `{"zone":"z"}`, "", "nantes paris"},
		{"a name that one has not", &world{shows: map[string]string{"paris/zones/z": ""}}, "paris & nantes", "paris nantes", `{"zone":"z"}`, "nantes/zone paris/zone", "nantes paris"},
		{"a name that one may have", &world{shows: map[string]string{"paris/zones/z": ""}, silent: map[engine.SiteID]bool{"nantes": true}}, "paris & nantes", "paris nantes", `{"zone":"z"}`, "", "nantes paris"},
		{"what is usable anywhere is not asked for", &world{}, "{servers: paris, images: nantes}", "paris", `{"image":"i","port":"p"}`, "", ""},
		{"two errors", &world{shows: map[string]string{"nantes/networks/n": flat, "nantes/zones/z": ""}}, "{servers: paris, networks: nantes, zones: nantes}", "paris",
			`{"network":"n","zone":"z"}`, "paris/network nantes/network; paris/zone nantes/zone", "nantes nantes"},
	} {
		s, err := scope.Parse(tt.scope)
		if err != nil {
			t.Fatal(err)
		}
		known := scope.World{Self: "paris", Sites: []string{"paris", "nantes", "lyon"}, Services: []string{"servers", "networks", "zones", "images"}, Addressed: "servers"}
		sites := func(names []string) (ids []engine.SiteID) {
			for _, n := range names {
				ids = append(ids, engine.SiteID(n))
			}
			return ids
		}
		result, err := tt.w.checker().Check(t.Context(), Request{Kind: server, Method: "POST", Path: "/servers", Creates: true, Relations: tree.RelationsOf(server, "", []byte(tt.body)),
			Sites: sites(strings.Fields(tt.sites)), Scope: s, Bound: func(n engine.ServiceName) []engine.SiteID { return sites(s.SitesOf(string(n), known)) }})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range result.Problems {
			_, rest, _ := strings.Cut(p.Detail, "  expected  ")
			expected, rest, _ := strings.Cut(rest, "\n  found     ")
			found, _, _ := strings.Cut(rest, "   (")
			got = append(got, expected+" "+found)
		}
		for _, site := range result.Unreachable {
			got = append(got, "unreachable: "+site)
		}
		if g := strings.Join(got, "; "); g != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, g, tt.want)
		}
		slices.Sort(tt.w.asked)
		if asked := strings.Join(tt.w.asked, " "); asked != tt.asked {
			t.Errorf("%s: asked %q, want %q", tt.name, asked, tt.asked)
		}
	}
}

// TestManyReferences is a request with more references than are checked.
func TestManyReferences(t *testing.T) {
	many := &engine.Kind{Service: "servers", Name: "server", Refs: []engine.Ref{{At: "/networks", Service: "networks", Kind: "network", Relation: engine.RelationReliance}}}
	ids := make([]string, 3*maxChecked)
	for i := range ids {
		ids[i] = fmt.Sprintf("%q", fmt.Sprint("n", i))
	}
	w := &world{}
	result, err := w.checker().Check(t.Context(), Request{Kind: many, Method: "POST", Path: "/servers", Relations: tree.RelationsOf(many, "", []byte(`{"networks":[`+strings.Join(ids, ",")+`]}`)),
		Sites: []engine.SiteID{"paris", "nantes"}, Scope: &scope.Scope{}, Bound: func(engine.ServiceName) []engine.SiteID { return nil }})
	if err != nil || len(w.asked) > 2*maxChecked || len(result.Lacking) > maxChecked || !strings.Contains(strings.Join(result.Warnings, " "), "only the first 64") {
		t.Errorf("%d asked, %d lacking, %v, %v", len(w.asked), len(result.Lacking), result.Warnings, err)
	}
}
