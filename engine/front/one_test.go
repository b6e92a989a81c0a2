package front

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// one is a request of a scope with "^" between the sites.
func one(k *engine.Kind, method, id, body string, sites ...*site) engine.Request {
	r := request(k, method, id, body, sites...)
	r.ExactlyOne = true
	return r
}

func TestANameIsAtExactlyOneSite(t *testing.T) {
	w := newWorld(t, "paris", "nantes", "lyon", "brest")
	paris, nantes, lyon, client := w.sites[0], w.sites[1], w.sites[2], w.sites[3]
	sites := w.sites[:3]
	const body = `{"id":"x","name":"n"}`
	a, err := nantes.Submit(t.Context(), one(disks, "POST", "", body, sites...))
	w.must(201, a, err)
	for _, s := range w.sites {
		a, err := s.Submit(t.Context(), one(disks, "POST", "", body, sites...))
		if w.wants("409 name-taken", a, err); !strings.Contains(fmt.Sprint(err), "nantes") {
			t.Errorf("it does not say where the name is: %v", err)
		}
		a, err = s.Submit(t.Context(), one(disks, "PATCH", "x", `{"by":"somebody"}`, sites...))
		w.must(200, a, err)
	}
	a, err = paris.Submit(t.Context(), one(disks, "POST", "", body, paris, nantes)) // other candidates, the same name
	w.wants("409 name-taken", a, err)
	if made := paris.app.count() + nantes.app.count() + lyon.app.count(); made != 1 || len(nantes.app.log()) != 5 {
		t.Errorf("there are %d objects; nantes was asked %q", made, nantes.app.log())
	}
	a, err = client.Submit(t.Context(), one(disks, "DELETE", "x", "", sites...))
	w.must(204, a, err)
	a, err = lyon.Submit(t.Context(), one(disks, "POST", "", body, sites...)) // the name is free
	w.must(201, a, err)
	if at, here, err := lyon.Chosen(t.Context(), disks, "x"); at != lyon.id || !here || err != nil {
		t.Errorf("lyon has it, and is told %s, %v, %v", at, here, err)
	}
	if at, here, err := nantes.Chosen(t.Context(), disks, "x"); at != lyon.id || here || err != nil {
		t.Errorf("lyon has it, and nantes is told %s, %v, %v", at, here, err)
	}
	lyon.app.remove(disks, "x") // behind the agent: its own site finds that out
	a, err = lyon.Submit(t.Context(), one(disks, "POST", "", body, sites...))
	w.must(201, a, err)
	a, err = paris.Submit(t.Context(), one(disks, "POST", "", `{"name":"nameless"}`, sites...))
	w.wants("422 scope-type", a, err)
	a, err = paris.Submit(t.Context(), one(images, "POST", "", `{"name":"n"}`, sites...))
	w.wants("422 scope-type", a, err)
}

// The earlier of two that have chosen has the name. A request for it goes there, also from the other.
func TestBothSidesOfACutChoose(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris, nantes := w.sites[0], w.sites[1]
	w.away(nantes.id, true)
	for _, s := range w.sites {
		w.pass(1e6)
		a, err := s.Submit(t.Context(), one(files, "PUT", "x", `{}`, w.sites...))
		w.must(201, a, err)
	}
	w.away(nantes.id, false)
	for _, s := range w.sites { // what each has said comes to the other
		for id, r := range s.replicas {
			for _, other := range w.sites {
				if h := r.Me.Holding; h != nil && other != s {
					other.hear(id, r.About, s.id, *h)
				}
			}
		}
	}
	for _, s := range w.sites {
		if at, here, err := s.Chosen(t.Context(), files, "x"); at != paris.id || !here || err != nil {
			t.Errorf("%s is told that it is at %s, %v, %v", s.id, at, here, err)
		}
	}
	a, err := nantes.Submit(t.Context(), one(files, "PUT", "x", `{"by":"client"}`, w.sites...))
	if w.must(200, a, err); !slices.Contains(paris.app.log(), "PUT x as ann") || len(paris.app.log()) != 2 {
		t.Errorf("paris was asked %q", paris.app.log())
	}
	// At that site alone, as a scope of one site says.
	a, err = paris.Submit(t.Context(), request(files, "DELETE", "x", "", paris))
	w.must(204, a, err)
	if at, here, err := nantes.Chosen(t.Context(), files, "x"); at != nantes.id || !here || err != nil {
		t.Errorf("it is at %s, %v, %v", at, here, err)
	}
}

// The agent dies between the request and its record: the name is held all the same, from when it was asked for, and once.
func TestANameIsHeldAfterALostAnswer(t *testing.T) {
	for name, k := range map[string]*engine.Kind{"sent again": files, "looked for": disks} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "paris", "nantes")
			paris, nantes := w.sites[0], w.sites[1]
			paris.app.inject(doesFail)
			r := one(k, "PUT", "x", `{"id":"x"}`, w.sites...)
			if k == disks {
				r = one(k, "POST", "", `{"id":"x"}`, w.sites...)
			}
			a, err := paris.Submit(t.Context(), r)
			w.wants("504 upstream", a, err)
			paris.start()
			w.settle()
			for _, s := range w.sites {
				if at, _, err := s.Chosen(t.Context(), k, "x"); at != paris.id || err != nil {
					t.Errorf("%s hears that the name is at %q, %v", s.id, at, err)
				}
			}
			if len(paris.told) != 1 || len(paris.store.errands) != 0 || paris.app.count() != 1 || nantes.app.count() != 0 {
				t.Errorf("it said %q, %d errands are left, there are %d objects", paris.told, len(paris.store.errands), paris.app.count())
			}
			for _, r := range paris.replicas {
				if h := r.Me.Holding; h.At != start.UnixMicro() || h.Local != "x" {
					t.Errorf("it holds %+v", h)
				}
			}
		})
	}
}

// Of two creates at once the second finds the name taken.
func TestOneNameTwiceAtOnce(t *testing.T) {
	w := newWorld(t, "paris", "nantes")
	paris := w.sites[0]
	arrived, release := paris.app.holdUp()
	done := make(chan string)
	ask := func() { done <- told(paris.Submit(t.Context(), one(disks, "POST", "", `{"id":"x"}`, w.sites...))) }
	go ask()
	<-arrived
	go ask()
	release()
	got := []string{<-done, <-done}
	if slices.Sort(got); paris.app.count() != 1 || got[0] != "201" || !strings.HasPrefix(got[1], "409") {
		t.Errorf("told %q, there are %d objects", got, paris.app.count())
	}
}
