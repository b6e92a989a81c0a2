package front

import (
	"net/http"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/replica"
)

// applied has a site hear from others that they have settled the first operation of its own, with an outcome where there is one.
func (s *site) applied(id engine.DocumentID, op engine.OperationID, outcome engine.State, by ...*site) {
	s.mu.Lock()
	for _, from := range by {
		r := s.replicas[id]
		st := &engine.Status{Document: id, Number: r.At(from.id).Number + 1, Settled: engine.Vector{engine.Line(s.id): 1}}
		if outcome != "" {
			st.Outcomes = map[engine.OperationID]engine.Outcome{op: {State: outcome}}
		}
		if _, err := r.TakeStatus(st, engine.SignedStatus{Site: from.id}); err != nil {
			s.world.t.Error(err)
		}
	}
	watchers := s.watchers
	s.watchers = nil
	s.mu.Unlock()
	for _, tell := range watchers {
		tell()
	}
}

// replicates has a site's replica take requests, and apply them here alone. What it does then is told.
func (s *site) replicates(then func(engine.DocumentID, engine.OperationID)) {
	s.answers = func(id engine.DocumentID, about *engine.About, a *replica.Ask) (replica.Given, error) {
		s.mu.Lock()
		r := s.newReplica(id, *about)
		r.AddOperation(&engine.Operation{ID: a.Operation, Type: engine.TypeCreate, Number: 1, Line: engine.Line(s.id), Origin: s.id, Time: 1, Edit: &engine.Edit{}})
		r.Me.Settled = engine.Vector{engine.Line(s.id): 1}
		s.mu.Unlock()
		s.store.add(engine.ResourceRow{Document: id, ID: about.Key, Service: about.Service, Kind: about.Kind, Local: "p1", State: engine.StateConverging})
		then(id, a.Operation)
		return replica.Given{Answer: engine.Answer{Status: http.StatusCreated, Operation: a.Operation, Resource: about.Key, Site: s.id}}, nil
	}
}

func TestAWriteWaitsForTheAgreementOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		how     engine.Agreement
		applied int // others that apply it
		outcome engine.State
		lost    int // others that are lost once it has run
		wait    time.Duration
		want    string
	}{
		"one":                             {engine.AgreeOne, 0, "", 0, 0, "201"},
		"a majority":                      {engine.AgreeQuorum, 1, "", 0, 0, "201"},
		"a majority, some are lost":       {engine.AgreeQuorum, 1, "", 1, 0, "201"},
		"a majority is lost":              {engine.AgreeQuorum, 0, "", 2, 0, "202"},
		"all":                             {engine.AgreeSync, 2, "", 0, 0, "201"},
		"all, and one is lost":            {engine.AgreeSync, 1, "", 1, 0, "202"},
		"all, and one refuses it":         {engine.AgreeSync, 1, engine.StateRejected, 0, 0, "202"},
		"all, and one leaves it out":      {engine.AgreeSync, 2, engine.StateSuperseded, 0, 0, "201"},
		"all, and the client's time ends": {engine.AgreeSync, 1, "", 0, time.Millisecond, "202"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "paris", "nantes", "lyon")
			paris := w.sites[0]
			paris.replicates(func(id engine.DocumentID, op engine.OperationID) {
				go func() {
					for _, by := range w.sites[1 : 1+c.applied] {
						paris.applied(id, op, c.outcome, by)
					}
					for _, s := range w.sites[3-c.lost:] {
						w.away(s.id, true)
					}
				}()
			})
			r := request(images, "POST", "", `{}`, w.sites...)
			r.Agreement, r.Wait = c.how, c.wait
			a, err := paris.Submit(t.Context(), r)
			w.wants(c.want, a, err)
			if a.Operation == "" || a.Resource == "" || c.want == "202" && a.Header.Get("Location") == "" {
				t.Errorf("%+v tells no operation", a)
			}
		})
	}
}

func TestWithoutAMajorityNothingHappens(t *testing.T) {
	w := newWorld(t, "paris", "nantes", "lyon", "brest")
	paris, nantes, lyon, client := w.sites[0], w.sites[1], w.sites[2], w.sites[3]
	sites := w.sites[:3]
	paris.store.add(engine.ResourceRow{Document: "d", ID: "y", Local: "p1", Service: "store", Kind: "image",
		Sites: map[engine.SiteID]engine.ReplicaStatus{"paris": {}, "nantes": {}, "lyon": {}}})
	ask := func(at *site, how engine.Agreement, r engine.Request) {
		t.Helper()
		r.Agreement = how
		a, err := at.Submit(t.Context(), r)
		w.wants("503 unreachable", a, err)
	}
	w.away(lyon.id, true)
	ask(paris, engine.AgreeSync, request(images, "POST", "", `{}`, sites...))
	ask(paris, engine.AgreeSync, request(images, "PATCH", "y", `{}`))
	ask(client, engine.AgreeSync, request(images, "POST", "", `{}`, sites...))
	w.away(nantes.id, true)
	ask(paris, engine.AgreeQuorum, request(images, "POST", "", `{}`, sites...))
	w.away(paris.id, true)
	ask(client, engine.AgreeQuorum, request(images, "POST", "", `{}`, sites...)) // and it is not kept
	for _, s := range w.sites {
		if len(s.app.log())+len(s.store.outbox) != 0 {
			t.Errorf("%s was asked %q and keeps %d", s.id, s.app.log(), len(s.store.outbox))
		}
	}
}
