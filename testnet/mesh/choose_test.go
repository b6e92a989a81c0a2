package mesh

import (
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// otherwise is a create that is to run at the first of several alternatives that takes it.
func otherwise(alternatives ...[]*Site) engine.Request {
	r := request(Image, "POST", "", `{"name":"n"}`)
	for _, sites := range alternatives {
		var a engine.Alternative
		for _, s := range sites {
			a.Placement = append(a.Placement, s.ID)
		}
		r.Alternatives = append(r.Alternatives, a)
	}
	r.Placement = r.Alternatives[0].Placement
	return r
}

func TestAWriteGoesToTheNextAlternativeOnlyWhileNothingHasHappened(t *testing.T) {
	for name, c := range map[string]struct {
		fault   Fault // at nantes
		cut     bool
		status  int
		refusal int
		at      int // the site that has made it; -1: none
	}{
		"it runs":                            {0, false, 201, 0, 1},
		"no connection to the site":          {0, true, 201, 0, 2},
		"no connection to its application":   {Away, false, 201, 0, 2},
		"the application is busy":            {Refuses, false, 503, 0, -1},
		"the application rejects it":         {Rejects, false, 422, 0, -1},
		"no answer, and it has not happened": {Fails, false, 0, 504, -1},
		"no answer, and it has happened":     {DoesAndFails, false, 0, 504, 1},
	} {
		for client, at := range map[string]int{"asked at a third site": 0, "asked at the first": 1, "asked at the other": 2} {
			t.Run(name+", "+client, func(t *testing.T) {
				m := open(t, Image, 3)
				nantes, lyon := m.Sites[1], m.Sites[2]
				made := c.at
				if c.cut && at == 1 { // it is always connected to itself
					made = 1
				}
				if c.fault != 0 {
					nantes.App.Inject(c.fault)
				}
				m.Cut(nantes, c.cut)
				a, err := m.Sites[at].Submit(t.Context(), otherwise([]*Site{nantes}, []*Site{lyon}))
				switch {
				case c.refusal != 0 && at == 1:
					wantRefusal(t, err, c.refusal)
				case c.refusal != 0:
					if a.Status != 0 {
						must(t, c.refusal)(a, err)
					} else {
						wantRefusal(t, err, c.refusal)
					}
				default:
					must(t, c.status)(a, err)
				}
				for i, s := range m.Sites {
					if n := len(s.App.Objects()); n != 0 && i != made || n != 1 && i == made {
						t.Errorf("%s has %d objects", s.Name, n)
					}
				}
			})
		}
	}
}

func TestReplicasOtherwiseElsewhere(t *testing.T) {
	m := open(t, Image, 4)
	client, paris, nantes, lyon := m.Sites[0], m.Sites[1], m.Sites[2], m.Sites[3]
	both := otherwise([]*Site{paris, nantes}, []*Site{lyon, client})
	m.Cut(paris, true)
	must(t, 201)(client.Submit(t.Context(), both)) // nantes can be reached
	m.Cut(nantes, true)
	must(t, 201)(client.Submit(t.Context(), both)) // made here, and at lyon when it hears of it
	m.Cut(paris, false)
	m.Cut(nantes, false)
	for deadline := time.Now().Add(patience); len(lyon.App.Objects()) == 0 || len(paris.App.Objects()) == 0; {
		m.Reconcile()
		if time.Now().After(deadline) {
			t.Fatalf("lyon has %v, paris %v", lyon.App.Objects(), paris.App.Objects())
		}
	}
	for _, s := range m.Sites {
		if n := len(s.App.Objects()); n != 1 {
			t.Errorf("%s has %d objects", s.Name, n)
		}
	}
}

// When nobody can be reached, the request is kept, and runs once at whoever of them comes back.
func TestAlternativesThatCannotBeReachedKeepTheRequest(t *testing.T) {
	m := open(t, Image, 3)
	client, nantes, lyon := m.Sites[0], m.Sites[1], m.Sites[2]
	m.Cut(nantes, true)
	m.Cut(lyon, true)
	a := must(t, 202)(client.Submit(t.Context(), otherwise([]*Site{nantes}, []*Site{lyon})))
	m.Cut(lyon, false)
	await(t, m, client, a.Operation, engine.StateApplied, lyon)
	m.Cut(nantes, false)
	if n, l := len(nantes.App.Objects()), len(lyon.App.Objects()); n != 0 || l != 1 {
		t.Errorf("nantes has %d objects, lyon %d", n, l)
	}
}

// A request under a key goes nowhere else once a site may have had it.
func TestAKeyKeepsToItsAlternative(t *testing.T) {
	m := open(t, Image, 3)
	client, nantes, lyon := m.Sites[0], m.Sites[1], m.Sites[2]
	r := otherwise([]*Site{nantes}, []*Site{lyon})
	r.Key, r.Caller = "k", "c"
	nantes.App.Inject(DoesAndFails)
	a, err := client.Submit(t.Context(), r)
	if err == nil && a.Status != 504 {
		t.Fatalf("answered %d", a.Status)
	}
	m.Cut(nantes, true)
	a, err = client.Submit(t.Context(), r)
	if err == nil && a.Status < 300 && a.Status != 202 || len(lyon.App.Objects()) != 0 {
		t.Errorf("answered %d %s, %v; lyon has %v", a.Status, a.Body, err, lyon.App.Objects())
	}
}
