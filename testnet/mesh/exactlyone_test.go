package mesh

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// settable is a kind whose creates may bring their own identifier in the body.
var settable = &engine.Kind{
	Service: "images", Name: "image", Collection: "/images", Item: "/images/{id}",
	ID: engine.IDRule{From: engine.IDFromBody, At: "/id", Settable: true},
}

// one is a request of a scope with "^" between the sites.
func one(kind *engine.Kind, method, id, body string, sites ...*Site) engine.Request {
	r := request(kind, method, id, body, sites...)
	r.ExactlyOne = true
	return r
}

func wantTaken(t *testing.T, a engine.Answer, err error, at *Site) {
	t.Helper()
	if err != nil {
		if r := wantRefusal(t, err, 409); r.Type != "name-taken" || !strings.Contains(r.Detail, string(at.Name)) {
			t.Errorf("it does not say where the name is: %v", err)
		}
		return
	}
	if a.Status != 409 || !strings.Contains(string(a.Body), "name-taken") || !strings.Contains(string(a.Body), string(at.Name)) {
		t.Errorf("answered %d %s, want that the name is taken at %s", a.Status, a.Body, at.Name)
	}
}

func TestANameIsAtExactlyOneSite(t *testing.T) {
	m := open(t, settable, 4)
	paris, nantes, lyon, client := m.Sites[0], m.Sites[1], m.Sites[2], m.Sites[3]
	sites := m.Sites[:3]
	const body = `{"id":"x","name":"n"}`
	must(t, 201)(nantes.Submit(t.Context(), one(settable, "POST", "", body, sites...)))
	m.Reconcile()
	for _, s := range []*Site{paris, nantes, lyon, client} {
		a, err := s.Submit(t.Context(), one(settable, "POST", "", body, sites...))
		wantTaken(t, a, err, nantes)
		must(t, 200)(s.Submit(t.Context(), one(settable, "PATCH", "x", `{"by":"`+string(s.Name)+`"}`, sites...)))
	}
	a, err := paris.Submit(t.Context(), one(settable, "POST", "", body, paris, nantes)) // other candidates, the same name
	wantTaken(t, a, err, nantes)
	if n := nantes.App.Count("PATCH"); n != 4 || objects(m.Sites) != 1 {
		t.Errorf("nantes was changed %d times, and there are %d objects", n, objects(m.Sites))
	}
	must(t, 204)(client.Submit(t.Context(), one(settable, "DELETE", "x", "", sites...)))
	m.Reconcile()
	must(t, 201)(lyon.Submit(t.Context(), one(settable, "POST", "", body, sites...))) // the name is free
	if at, here, err := lyon.Chosen(t.Context(), settable, "x"); at != lyon.ID || !here || err != nil {
		t.Errorf("lyon has it, and is told %s, %v, %v", at, here, err)
	}
	// Somebody deletes it behind the agent: its own site finds that out.
	lyon.App.Put("x", nil)
	must(t, 201)(lyon.Submit(t.Context(), one(settable, "POST", "", body, sites...)))
	_, err = paris.Submit(t.Context(), one(settable, "POST", "", `{"name":"nameless"}`, sites...))
	wantRefusal(t, err, 422)
	_, err = paris.Submit(t.Context(), one(Image, "POST", "", `{"name":"n"}`, sites...))
	wantRefusal(t, err, 422)
}

// Both sides of a cut choose: the earlier has the name, the other stays and is shown, until somebody deletes one of them.
func TestBothSidesOfACutChoose(t *testing.T) {
	for name, remove := range map[string]int{"the later goes": 1, "the earlier goes": 0} {
		t.Run(name, func(t *testing.T) {
			m := open(t, natural, 3)
			paris, nantes, client := m.Sites[0], m.Sites[1], m.Sites[2]
			sites := m.Sites[:2]
			m.Cut(nantes, true)
			must(t, 201)(paris.Submit(t.Context(), one(natural, "PUT", "x", `{"by":"paris"}`, sites...)))
			must(t, 201)(nantes.Submit(t.Context(), one(natural, "PUT", "x", `{"by":"nantes"}`, sites...)))
			must(t, 201)(nantes.Submit(t.Context(), one(natural, "PUT", "y", `{"by":"nantes"}`, sites...)))
			m.Cut(nantes, false)
			m.Reconcile()
			for _, s := range sites {
				list, _, err := s.Disk.Conflicts(t.Context(), engine.ConflictFilter{})
				if err != nil || len(list) != 1 || list[0].Kind != engine.ConflictName || list[0].Site != nantes.ID || list[0].Resource != "x" {
					t.Fatalf("%s knows the conflicts %+v, %v", s.Name, list, err)
				}
				if at, here, err := s.Chosen(t.Context(), natural, "x"); at != paris.ID || !here || err != nil {
					t.Errorf("the name is at %s, %v, %v", at, here, err)
				}
			}
			must(t, 200)(nantes.Submit(t.Context(), one(natural, "PUT", "x", `{"by":"client"}`, sites...)))
			if got := shown(paris); len(got) != 1 || got[0] != `{"by":"client"}` || len(shown(nantes)) != 2 {
				t.Errorf("paris shows %v, nantes %v", got, shown(nantes))
			}
			if err := paris.Restart(); err != nil {
				t.Fatal(err)
			}
			// At that site alone, as a scope of one site says.
			must(t, 204)(client.Submit(t.Context(), request(natural, "DELETE", "x", "", sites[remove])))
			m.Reconcile()
			for _, s := range sites {
				if list, _, err := s.Disk.Conflicts(t.Context(), engine.ConflictFilter{}); len(list) != 0 || err != nil {
					t.Errorf("%s still knows %+v, %v", s.Name, list, err)
				}
				if at, _, _ := s.Chosen(t.Context(), natural, "x"); at != sites[1-remove].ID {
					t.Errorf("the name is at %s", at)
				}
			}
		})
	}
}

// The agent dies between the request and its record: the name is held all the same, and once.
func TestANameIsHeldAfterALostAnswer(t *testing.T) {
	m := open(t, natural, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	paris.App.Inject(DoesAndFails)
	_, err := paris.Submit(t.Context(), one(natural, "PUT", "x", `{"by":"paris"}`, m.Sites...))
	wantRefusal(t, err, 504)
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	until(t, m, func() string {
		at, _, err := paris.Chosen(t.Context(), natural, "x")
		if err != nil || at != paris.ID {
			return fmt.Sprintf("the name is at %q, %v", at, err)
		}
		return ""
	})
	m.Reconcile()
	if at, _, err := nantes.Chosen(t.Context(), natural, "x"); at != paris.ID || err != nil {
		t.Errorf("nantes hears that the name is at %s, %v", at, err)
	}
}

func TestOnlyCandidatesHearOfAName(t *testing.T) {
	m := open(t, natural, 3)
	paris, nantes, lyon := m.Sites[0], m.Sites[1], m.Sites[2]
	must(t, 201)(paris.Submit(t.Context(), one(natural, "PUT", "x", `{"by":"paris"}`, paris, nantes)))
	names, err := paris.Disk.Names(t.Context(), "images", "image", "x")
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	if l := lacks(t, paris, lyon, names[0]); !empty(l) {
		t.Error("a site that is no candidate is shown the document")
	}
	l := lacks(t, paris, nantes, names[0])
	m.Lose()
	for _, c := range []struct{ to, from *Site }{{lyon, paris}, {nantes, lyon}} {
		if err := c.to.Proc.Receive(c.from.ID, l); err == nil || c.to.Disk.Stored()["records"] != 0 {
			t.Errorf("%s takes the document in from %s", c.to.Name, c.from.Name)
		}
	}
	if err := nantes.Proc.Receive(paris.ID, l); err != nil || nantes.Disk.Stored()["records"] != 1 {
		t.Errorf("a candidate does not take it in: %v", err)
	}
}
