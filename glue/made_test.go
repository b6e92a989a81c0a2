package glue

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestReferringBeside reads what lies beside a target in its container: what refers to it but for what was made along, and what was made
// along with it.
func TestReferringBeside(t *testing.T) {
	at, log := application(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, map[string]string{
			"/ns/foo/pods": `{"items":[{"name":"one","map":"m"},{"name":"two","map":"m","owners":[{"kind":"Other","name":"x"},{"kind":"Set","name":"s"}]},{"name":"three","map":"n"}]}`,
			"/ns/foo/sets": `{"items":[{"name":"s","map":"m"}]}`,
		}[r.URL.Path])
	})
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	kind := func(name engine.KindName, refs ...engine.Ref) *engine.Kind {
		return &engine.Kind{Service: "c", Name: name, Within: "ns", Collection: "/ns/{ns}/" + string(name), Item: "/ns/{ns}/" + string(name) + "/{id}",
			ID: engine.IDRule{From: engine.IDFromBody, At: "/name", Settable: true}, Refs: refs}
	}
	uses := engine.Ref{At: "/map", Service: "c", Kind: "maps", Relation: engine.RelationReliance, Beside: true}
	ns := &engine.Kind{Service: "c", Name: "ns", Collection: "/ns", Item: "/ns/{id}", ID: engine.IDRule{From: engine.IDFromBody, At: "/name", Settable: true}}
	c, err := NewClient(ClientConfig{Upstreams: []Upstream{{Service: "c", URL: u, Kinds: []*engine.Kind{ns, kind("maps"), kind("pods", uses), kind("sets", uses)}}},
		Owners: func(k *engine.Kind) []Owner {
			if k.Name != "pods" {
				return nil
			}
			return []Owner{{At: "/owners", Member: "kind", Equals: "Set", ID: "name", Kind: "sets"}}
		}})
	if err != nil {
		t.Fatal(err)
	}
	c.Use(ids)
	t.Cleanup(c.CloseIdle)
	words := func(found []Referrer, err error) string {
		var all []string
		for _, r := range found {
			all = append(all, fmt.Sprint(r.Kind, " ", r.ID, " ", r.By.Type, " ", r.By.At))
		}
		return strings.TrimSpace(strings.Join(all, ", ") + fmt.Sprint(" ", err))
	}
	if got := words(c.Referring(t.Context(), engine.Target{Service: "c", Kind: "maps", ID: "foo/m"}, nil)); got != "pods foo/one reliance /map, sets foo/s reliance /map <nil>" {
		t.Errorf("refers to it: %s", got)
	}
	if got := words(c.Made(t.Context(), engine.Target{Service: "c", Kind: "sets", ID: "foo/s"}, nil)); got != "pods foo/two composition /owners/1 <nil>" {
		t.Errorf("made along: %s", got)
	}
	before := len(*log)
	if got := words(c.Made(t.Context(), engine.Target{Service: "c", Kind: "pods", ID: "foo/one"}, nil)); got != "<nil>" || len(*log) != before {
		t.Errorf("made along with a pod: %s", got)
	}
}
