package front

import (
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// otherwise is a create that is to run at the first of several alternatives that takes it.
func otherwise(alternatives ...[]*site) engine.Request {
	r := request(images, "POST", "", `{"name":"n"}`)
	for _, sites := range alternatives {
		var a engine.Alternative
		for _, s := range sites {
			a.Placement = append(a.Placement, s.id)
		}
		r.Alternatives = append(r.Alternatives, a)
	}
	r.Placement = r.Alternatives[0].Placement
	return r
}

func TestAWriteGoesToTheNextAlternativeOnlyWhileNothingHasHappened(t *testing.T) {
	for name, c := range map[string]struct {
		fault fault // at nantes
		cut   bool
		told  string
		at    int // the site that has made it; -1: none
	}{
		"it runs":                            {fine, false, "201", 1},
		"no connection to the site":          {fine, true, "201", 2},
		"no connection to its application":   {away, false, "201", 2},
		"the application is busy":            {busy, false, "503", -1},
		"the application rejects it":         {rejects, false, "422", -1},
		"no answer, and it has not happened": {fails, false, "504 upstream", -1},
		"no answer, and it has happened":     {doesFail, false, "504 upstream", 1},
	} {
		for client, at := range map[string]int{"asked at a third site": 0, "asked at the first": 1, "asked at the other": 2} {
			t.Run(name+", "+client, func(t *testing.T) {
				w := newWorld(t, "paris", "nantes", "lyon")
				nantes, lyon := w.sites[1], w.sites[2]
				made := c.at
				if c.cut && at == 1 { // it is always connected to itself
					made = 1
				}
				if c.fault != fine {
					nantes.app.inject(c.fault)
				}
				w.away(nantes.id, c.cut)
				a, err := w.sites[at].Submit(t.Context(), otherwise([]*site{nantes}, []*site{lyon}))
				w.wants(c.told, a, err)
				for i, s := range w.sites {
					if n := s.app.count(); n != 0 && i != made || n != 1 && i == made {
						t.Errorf("%s has %d objects", s.id, n)
					}
				}
			})
		}
	}
}

// When nobody can be reached, the request is kept, and runs once at whoever of them comes back.
func TestAlternativesThatCannotBeReachedKeepTheRequest(t *testing.T) {
	w := newWorld(t, "paris", "nantes", "lyon")
	client, nantes, lyon := w.sites[0], w.sites[1], w.sites[2]
	w.away(nantes.id, true)
	w.away(lyon.id, true)
	a, err := client.Submit(t.Context(), otherwise([]*site{nantes}, []*site{lyon}))
	w.must(202, a, err)
	w.away(lyon.id, false)
	w.settle()
	w.away(nantes.id, false)
	w.settle()
	if n, l := nantes.app.count(), lyon.app.count(); n != 0 || l != 1 || client.state(a.Operation, lyon) != engine.StateApplied {
		t.Errorf("nantes has %d objects, lyon %d, where it is %s", n, l, client.state(a.Operation, lyon))
	}
	// What needs the agreement of others is for now or not at all.
	w.away(nantes.id, true)
	w.away(lyon.id, true)
	r := otherwise([]*site{nantes, lyon})
	r.Alternatives[0].Agreement = engine.AgreeQuorum
	a, err = client.Submit(t.Context(), r)
	w.wants("503 unreachable", a, err)
	if len(client.store.outbox) != 0 {
		t.Error("it is kept")
	}
}

// A request under a key goes nowhere else once a site may have had it.
func TestAKeyKeepsToItsAlternative(t *testing.T) {
	w := newWorld(t, "paris", "nantes", "lyon")
	client, nantes, lyon := w.sites[0], w.sites[1], w.sites[2]
	r := otherwise([]*site{nantes}, []*site{lyon})
	r.Key = "k"
	nantes.app.inject(doesFail)
	a, err := client.Submit(t.Context(), r)
	w.wants("504 upstream", a, err)
	w.away(nantes.id, true)
	if a, err = client.Submit(t.Context(), r); err == nil && a.Status != 202 || lyon.app.count() != 0 {
		t.Errorf("told %s; lyon has %d objects", told(a, err), lyon.app.count())
	}
}

// What a site hands over runs there with what it was asked for, and goes no further.
func TestRequestsOfOtherAgents(t *testing.T) {
	w := newWorld(t, "paris", "nantes", "lyon")
	paris, nantes, lyon := w.sites[0], w.sites[1], w.sites[2]
	handed := func(r engine.Request) engine.Request {
		r.Operation, r.Via = engine.OperationID(w.newID()), []engine.SiteID{nantes.id}
		return r
	}
	for _, c := range []struct {
		name string
		r    engine.Request
		want string
	}{
		{"a loop", func() engine.Request {
			r := request(images, "POST", "", `{}`, paris)
			r.Via = []engine.SiteID{nantes.id, paris.id}
			return r
		}(), "508 loop"},
		{"not its business", handed(request(images, "POST", "", `{}`, lyon)), "404 not-replicated"},
		{"nothing is known of it", handed(request(images, "PATCH", "x", `{}`)), "404 gone"},
		{"not replicated here", handed(request(images, "PATCH", "x", `{}`, paris, nantes)), "404 not-replicated"},
		{"no identifier", func() engine.Request {
			r := request(images, "POST", "", `{}`, paris)
			r.Operation = "no identifier"
			return r
		}(), "400 operation"},
		{"too long", request(images, "POST", "", strings.Repeat(" ", engine.MaxLooked+1), paris), "413 too-large"},
		{"a create", handed(request(images, "POST", "", `{}`, paris)), "201"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			a, err := paris.Submit(t.Context(), c.r)
			w.wants(c.want, a, err)
		})
	}
	row := engine.ResourceRow{Document: "d", ID: "y", Service: "store", Kind: "image", State: engine.StateConverged,
		Sites: map[engine.SiteID]engine.ReplicaStatus{"paris": {State: engine.StateConverging}, "nantes": {State: engine.StateConverged}}}
	for _, c := range []struct {
		name   string
		status engine.ReplicaStatus
		local  engine.LocalID
		via    bool
		want   string
	}{
		{"not made yet", engine.ReplicaStatus{}, "", true, "503 no-replica"},
		{"removed", engine.ReplicaStatus{State: engine.StateLeaving}, "p1", true, "404 not-replicated"},
		{"paused", engine.ReplicaStatus{Paused: &engine.Pause{By: "nantes"}}, "p1", true, "503 paused"},
		{"paused, by its own client", engine.ReplicaStatus{Paused: &engine.Pause{By: "nantes"}}, "p1", false, "200"},
		{"here", engine.ReplicaStatus{}, "p1", true, "200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			row.Sites["paris"], row.Local = c.status, c.local
			paris.store.add(row)
			r := request(images, "PATCH", "y", `{"a":1}`)
			if c.via {
				r = handed(r)
			}
			a, err := paris.Submit(t.Context(), r)
			w.wants(c.want, a, err)
		})
	}
	// What is not made here yet, and what this site was removed from, its own clients get from others.
	nantes.store.add(engine.ResourceRow{Document: "d", ID: "y", Local: "n1", Service: "store", Kind: "image", Sites: row.Sites})
	nantes.app.put(images, "n1", `{}`)
	for _, state := range []engine.State{engine.StateConverging, engine.StateLeaving} {
		row.Sites, row.Local = map[engine.SiteID]engine.ReplicaStatus{"paris": {State: state}, "nantes": {}}, ""
		paris.store.add(row)
		a, err := paris.Submit(t.Context(), request(images, "PATCH", "y", `{"by":"paris"}`))
		w.wants("200", a, err)
	}
	if got := nantes.app.log(); !slices.Equal(got, []string{"PATCH n1 as ann", "PATCH n1 as ann"}) {
		t.Errorf("nantes was asked %q", got)
	}
}
