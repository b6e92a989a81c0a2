package front

import (
	"net/http"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/view"
)

// boxed is a site with its part of a box that is spread over it and nantes, in which nantes has "blue".
func boxed(t *testing.T) (*world, *site) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	about := engine.About{Service: "store", Kind: "box", Key: "foo", Collaboration: engine.Cross, Placement: []engine.SiteID{"nantes", "paris"},
		Parts: engine.Parts{{"paris"}, {"nantes"}}}
	_, id, _ := documents{}.Identify(about)
	r := paris.newReplica(id, about)
	tell := func(site engine.SiteID, i engine.Inner) {
		r.TakeEntries(view.NewEpoch(0, engine.Tip{}), engine.Line(site), 1, []engine.Entry{{Map: engine.MapContents, Value: engine.Encode(&i)}}, nil, func(err error) { t.Error(err) })
	}
	tell("nantes", engine.Inner{Kind: "thing", Local: "blue", Name: "blue", At: 1})
	tell("paris", engine.Inner{Kind: "thing", Local: "red", Name: "red", At: 2})
	tell("nantes", engine.Inner{Kind: "thing", Local: "own", Name: "own", At: 3, Own: true})
	paris.store.add(engine.ResourceRow{Document: id, ID: "foo", Local: "foo", Service: "store", Kind: "box", Collaboration: engine.Cross,
		Sites: map[engine.SiteID]engine.ReplicaStatus{"paris": {Part: 1}, "nantes": {Part: 2}}})
	return w, paris
}

func TestNamesInsideAContainerAreUnique(t *testing.T) {
	for name, c := range map[string]struct {
		method, id string
		everywhere bool
		want       string
		told       []string
	}{
		"a free name":                     {"PUT", "foo/green", false, "201", []string{`made thing "green" as "" gone=false`}},
		"taken at another part":           {"PUT", "foo/blue", false, "409 name-taken", nil},
		"taken at another, replicated":    {"PUT", "foo/blue", true, "409 name-taken", nil},
		"the application's own":           {"PUT", "foo/own", false, "201", []string{`made thing "own" as "" gone=false`}},
		"a put of what is in this part":   {"PUT", "foo/red", false, "200", []string{`made thing "red" as "" gone=false`}},
		"a delete of what is there":       {"DELETE", "foo/red", false, "204", []string{`made thing "red" as "" gone=true`}},
		"a replica in both":               {"PUT", "foo/green", true, "201", []string{`made thing "green" as "foo/green" gone=false`}},
		"another container":               {"PUT", "bar/blue", false, "201", nil},
		"a delete of what is not in here": {"DELETE", "foo/green", false, "404", []string{`made thing "green" as "" gone=true`}},
	} {
		t.Run(name, func(t *testing.T) {
			w, paris := boxed(t)
			paris.app.put(things, "foo/red", `{"name":"red"}`)
			sites := w.sites[:1]
			if c.everywhere {
				sites = w.sites
			}
			_, own := things.Split(c.id)
			body := `{"name":"` + own + `"}`
			if c.method == http.MethodDelete {
				body = ""
			}
			a, err := paris.Submit(t.Context(), request(things, c.method, c.id, body, sites...))
			if w.wants(c.want, a, err); !slices.Equal(paris.told, c.told) {
				t.Errorf("told the others %q, want %q", paris.told, c.told)
			}
		})
	}
}

// While one request gives a name another finds it taken.
func TestANameInsideIsGivenOnceAtATime(t *testing.T) {
	w, paris := boxed(t)
	arrived, release := paris.app.holdUp()
	ask := func() string {
		return told(paris.Submit(t.Context(), request(things, "PUT", "foo/green", `{"name":"green"}`, paris)))
	}
	done := make(chan string)
	go func() { done <- ask() }()
	<-arrived
	if got := ask(); got != "409 name-taken" {
		t.Errorf("the second is told %s", got)
	}
	release()
	if got := <-done; got != "201" {
		t.Errorf("the first is told %s", got)
	}
	_ = w
}

// What an answer does not show has the part looked into; so has what passes without the agent's help.
func TestWhatChangesInsideIsLookedFor(t *testing.T) {
	w, paris := boxed(t)
	paris.app.put(things, "foo/red", `{"name":"red"}`)
	r := request(things, "PATCH", "foo/red", `{"n":1}`, paris)
	r.Type, r.Path = engine.TypeAction, things.Item+"/start"
	paris.app.put(things, "foo/red", `{"n":0}`) // an answer that does not name it
	a, err := paris.Submit(t.Context(), r)
	w.must(200, a, err)
	w.settle()
	if !slices.Equal(paris.told, []string{"look=true"}) {
		t.Errorf("told %q", paris.told)
	}
	list, err := paris.Contents(t.Context(), paris.document(t, "foo"), "thing")
	if err != nil || len(list) != 3 || list[0].Local != "blue" {
		t.Errorf("it holds %+v, %v", list, err)
	}
	paris.ContentsChanged(paris.document(t, "foo"))
	w.settle()
	if len(paris.told) != 2 {
		t.Errorf("told %q", paris.told)
	}
}

func (s *site) document(t *testing.T, id engine.ResourceID) engine.DocumentID {
	row, err := s.store.ResourceByID(t.Context(), "store", "box", id)
	if err != nil {
		t.Fatal(err)
	}
	return row.Document
}

// What lies in a container that is at exactly one site is where that is.
func TestWhatLiesInAContainerAtOneSite(t *testing.T) {
	w := newWorld(t, "paris", "nantes", "lyon")
	paris, nantes, lyon := w.sites[0], w.sites[1], w.sites[2]
	two := w.sites[:2]
	a, err := nantes.Submit(t.Context(), one(boxes, "PUT", "foo", `{}`, two...))
	w.must(201, a, err)
	for _, s := range []*site{paris, nantes, lyon} {
		a, err := s.Submit(t.Context(), one(things, "PUT", "foo/"+string(s.id), `{}`, two...))
		w.must(201, a, err)
	}
	if paris.app.count()+lyon.app.count() != 0 || nantes.app.count() != 4 {
		t.Errorf("paris has %d, nantes %d, lyon %d", paris.app.count(), nantes.app.count(), lyon.app.count())
	}
}

func TestWhatReliesAndLiesInside(t *testing.T) {
	w := newWorld(t, "paris")
	paris := w.sites[0]
	x := engine.Target{Service: "store", Kind: "file", ID: "x"}
	for id, found := range map[engine.ResourceID][]engine.SiteID{"foo/here": {"paris"}, "foo/there": {"nantes"}, "bar/any": nil} {
		paris.store.add(engine.ResourceRow{Document: engine.DocumentID(id), ID: id, Service: "store", Kind: "thing",
			Relations: []engine.Relation{{Target: x, Type: engine.RelationReliance, Found: found}}})
	}
	names := func(rows []engine.ResourceRow, err error) []engine.ResourceID {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		var ids []engine.ResourceID
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		slices.Sort(ids)
		return ids
	}
	// An object of this site alone is not the one that is meant at another.
	if got := names(paris.Relying(t.Context(), files, "x", 10)); !slices.Equal(got, []engine.ResourceID{"bar/any", "foo/here"}) {
		t.Errorf("relying on it: %v", got)
	}
	paris.store.add(engine.ResourceRow{Document: "x", ID: "x", Local: "17", Service: "store", Kind: "file"})
	if got := names(paris.Relying(t.Context(), files, "17", 10)); len(got) != 3 {
		t.Errorf("relying on the resource: %v", got)
	}
	if got := names(paris.Relying(t.Context(), images, "x", 10)); got != nil {
		t.Errorf("relying on what nothing can: %v", got)
	}
	if got := names(paris.Holding(t.Context(), boxes, "foo", 10)); !slices.Equal(got, []engine.ResourceID{"foo/here", "foo/there"}) {
		t.Errorf("inside: %v", got)
	}
	if got := names(paris.Holding(t.Context(), files, "foo", 10)); got != nil {
		t.Errorf("inside what is no container: %v", got)
	}
}
