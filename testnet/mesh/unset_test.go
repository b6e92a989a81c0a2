package mesh

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// counted is a kind with an action of which the catalog does not say what it sets: it raises a count.
func counted() *engine.Kind {
	k := *natural
	k.MergePatch = true
	k.Operations = []engine.NamedOperation{
		{Name: "start", Method: "POST", Path: "/images/{id}/start", Sets: map[engine.Pointer]json.RawMessage{"/power": json.RawMessage(`"on"`)}},
		{Name: "stop", Method: "POST", Path: "/images/{id}/stop", Sets: map[engine.Pointer]json.RawMessage{"/power": json.RawMessage(`"off"`)}},
		{Name: "incr", Method: "POST", Path: "/images/{id}/incr"},
	}
	return &k
}

func incr(k *engine.Kind, id string) engine.Request {
	r := request(k, "START", id, "")
	r.Path = "/images/{id}/incr"
	return r
}

// TestWhatNoOperationHasSetStaysAfterARestart raises a count by an action of which the catalog does not say what it sets. During a cut
// each site changes a field of its own, and one agent is started anew, or loses an answer. Rules say which operations take the effect of
// others: but what none of the changes has set stays as the application shows it. The count is not set back to what the create had set.
func TestWhatNoOperationHasSetStaysAfterARestart(t *testing.T) {
	for _, how := range []string{"restarted", "an answer is lost"} {
		t.Run(how, func(t *testing.T) {
			k := counted()
			k.Resolutions = []engine.Resolution{{Before: "start", After: "stop", Take: engine.TakeOne}}
			m := open(t, k, 2)
			paris, nantes := m.Sites[0], m.Sites[1]
			must(t, 201)(submit(t.Context(), paris, k, "PUT", "web", `{"count":0}`, m.Sites...))
			for range 2 {
				must(t, 200)(paris.Submit(t.Context(), incr(k, "web")))
			}
			converge(t, m, m.Sites...)
			m.Cut(nantes, true)
			must(t, 200)(submit(t.Context(), paris, k, "PATCH", "web", `{"left":1}`))
			must(t, 200)(submit(t.Context(), nantes, k, "PATCH", "web", `{"right":1}`))
			if how == "restarted" {
				if err := nantes.Restart(); err != nil {
					t.Fatal(err)
				}
			} else {
				nantes.App.Inject(DoesAndFails)
			}
			m.Cut(nantes, false)
			if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"count":2,"left":1,"right":1}`}) {
				t.Errorf("the sites show %v", got)
			}
		})
	}
}

// TestWhatAVoidDeleteLeavesStaysAfterARestart is like that where a change goes before a concurrent delete: at the site that is started
// anew and hears of the delete the object is there, so all of it stays as the application shows it.
func TestWhatAVoidDeleteLeavesStaysAfterARestart(t *testing.T) {
	k := counted()
	k.UpdateWins = true
	m := open(t, k, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	must(t, 201)(submit(t.Context(), paris, k, "PUT", "web", `{"count":0}`, m.Sites...))
	must(t, 200)(paris.Submit(t.Context(), incr(k, "web")))
	converge(t, m, m.Sites...)
	m.Cut(nantes, true)
	must(t, 204)(submit(t.Context(), paris, k, "DELETE", "web", ""))
	must(t, 200)(submit(t.Context(), nantes, k, "PATCH", "web", `{"right":1}`))
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	m.Cut(nantes, false)
	conflictAt(t, m, paris, engine.ConflictUndeclared)
	m.rest(time.Minute)
	if got := shown(nantes); !slices.Equal(got, []string{`{"count":1,"right":1}`}) {
		t.Errorf("nantes shows %v", got)
	}
}
