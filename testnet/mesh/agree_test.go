package mesh

import (
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// bring lets some sites exchange what they have until the request is answered.
func (m *Mesh) bring(t *testing.T, r *given, sites ...*Site) (engine.Answer, error) {
	t.Helper()
	m.Lose()
	for deadline := time.Now().Add(patience); !r.done; m.Pass(10 * time.Millisecond) {
		for _, a := range sites {
			for _, b := range sites {
				if a != b {
					a.pull(b)
				}
			}
		}
		m.Lose()
		if m.work(); !r.done && time.Now().After(deadline) {
			t.Fatal("no answer came")
		}
	}
	return r.what, r.err
}

func agree(a engine.Agreement, r engine.Request) engine.Request {
	r.Agreement = a
	return r
}

func TestAWriteWaitsForAMajorityOrForAll(t *testing.T) {
	m := open(t, Image, 4)
	sites := m.Sites[:3]
	for how, want := range map[engine.Agreement]int{engine.AgreeQuorum: 2, engine.AgreeSync: 3} {
		for _, client := range []int{0, 3} { // the last has no part in it
			before := objects(sites)
			heard := sites
			if client == 0 && how == engine.AgreeQuorum { // the third hears nothing
				heard = sites[:2]
			}
			r := agree(how, request(Image, "POST", "", `{"name":"n"}`, sites...))
			a := must(t, 201)(m.bring(t, m.Sites[client].ask(t.Context(), r), heard...))
			if made := objects(sites) - before; made < want {
				t.Errorf("%s, asked at site %d: answered when %d had it", how, client, made)
			}
			converge(t, m, sites...)
			done := m.Sites[client].ask(t.Context(), agree(how, request(Image, "PATCH", string(a.Resource), `{"size":1}`, sites...)))
			must(t, 200)(m.bring(t, done, sites...))
		}
	}
}

func objects(sites []*Site) (n int) {
	for _, s := range sites {
		n += len(s.App.Objects())
	}
	return n
}

func TestWithoutAMajorityNothingHappens(t *testing.T) {
	m := open(t, Image, 4)
	paris, nantes, lyon, client := m.Sites[0], m.Sites[1], m.Sites[2], m.Sites[3]
	sites := m.Sites[:3]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, sites...))
	converge(t, m, sites...)
	m.Cut(lyon, true)
	_, err := paris.Submit(t.Context(), agree(engine.AgreeSync, request(Image, "POST", "", `{}`, sites...)))
	wantRefusal(t, err, 503)
	_, err = paris.Submit(t.Context(), agree(engine.AgreeSync, request(Image, "PATCH", string(a.Resource), `{"size":2}`)))
	wantRefusal(t, err, 503)
	must(t, 503)(client.Submit(t.Context(), agree(engine.AgreeSync, request(Image, "POST", "", `{}`, sites...))))
	m.Cut(nantes, true)
	_, err = paris.Submit(t.Context(), agree(engine.AgreeQuorum, request(Image, "POST", "", `{}`, sites...)))
	wantRefusal(t, err, 503)
	m.Cut(paris, true)
	_, err = client.Submit(t.Context(), agree(engine.AgreeQuorum, request(Image, "POST", "", `{}`, sites...)))
	wantRefusal(t, err, 503) // and it is not kept
	m.Cut(paris, false)
	m.Cut(nantes, false)
	m.Cut(lyon, false)
	if got := converge(t, m, sites...); len(got) != 1 || got[0] != `{"name":"n"}` {
		t.Errorf("the sites show %v", got)
	}
}

func TestSitesLostAfterTheStartLeaveTheOperationUnderWay(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, lyon := m.Sites[0], m.Sites[1], m.Sites[2]
	arrived, release := paris.App.Hold()
	done := paris.ask(t.Context(), agree(engine.AgreeQuorum, request(Image, "POST", "", `{"name":"n"}`, m.Sites...)))
	arrives(t, m, arrived)
	m.Cut(nantes, true)
	m.Cut(lyon, true)
	release()
	a := must(t, 202)(m.bring(t, done, paris))
	if a.Operation == "" || a.Header.Get("Location") == "" {
		t.Errorf("%+v tells no operation", a)
	}
	m.Cut(nantes, false)
	m.Cut(lyon, false)
	if got := converge(t, m, m.Sites...); len(got) != 1 {
		t.Errorf("the sites show %v", got)
	}
}

// A site whose application refuses it will not apply it by waiting.
func TestARefusalElsewhereIsNotWaitedFor(t *testing.T) {
	m := open(t, Image, 3)
	m.Sites[1].App.Inject(Rejects)
	done := m.Sites[0].ask(t.Context(), agree(engine.AgreeSync, request(Image, "POST", "", `{"name":"n"}`, m.Sites...)))
	must(t, 202)(m.bring(t, done, m.Sites...))
	done = m.Sites[0].ask(t.Context(), agree(engine.AgreeQuorum, request(Image, "POST", "", `{"name":"n"}`, m.Sites...)))
	must(t, 201)(m.bring(t, done, m.Sites...))
}

func TestTheWaitForOthersIsBounded(t *testing.T) {
	m := open(t, Image, 2)
	r := agree(engine.AgreeSync, request(Image, "POST", "", `{"name":"n"}`, m.Sites...))
	r.Wait = time.Millisecond
	must(t, 202)(m.Sites[0].Submit(t.Context(), r)) // nothing brings it to the other
}
