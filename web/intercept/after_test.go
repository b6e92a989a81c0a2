package intercept

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

// TestARequestComesAfterWhatItsClientHasSeen: the site that answers waits for it, whichever the client has asked; an application hears nothing of it.
func TestARequestComesAfterWhatItsClientHasSeen(t *testing.T) {
	m := newMesh(t)
	m.replicate("i", map[engine.SiteID]engine.LocalID{paris: "p", nantes: "n"})
	after := engine.MakeAfter(engine.DocumentID(strings.Repeat("0a", 32)), &engine.Operation{Line: engine.LineOf(lyon, "r1"), Number: 7}, []engine.SiteID{nantes}).String()
	header := "Skerry-After: " + after
	waited := map[engine.SiteID]int{}
	for id, s := range m.sites {
		s.reached = func(_ context.Context, a engine.After) error {
			waited[id]++
			if n := len(s.app.asked()); n > 0 || len(s.operations()) > 0 {
				t.Errorf("%s waits after it has run", id)
			}
			if a.String() != after {
				t.Errorf("%s waits for %s", id, a)
			}
			return nil
		}
	}
	s := m.sites[paris]
	s.do("GET", "/images/i", "", header).want(t, 200)
	if waited[paris] != 1 || len(s.app.asked()) != 1 || s.app.asked()[0].header.Get("Skerry-After") != "" {
		t.Errorf("waited %v, and the application has got %v", waited, s.app.asked())
	}
	m.sites[lyon].do("GET", "/images/i", "", header, "Scope: nantes").want(t, 200)
	if waited[nantes] != 1 {
		t.Errorf("what is read through another site does not wait where it is read: %v", waited)
	}
	m.sites[lyon].do("PATCH", "/images/i", `{}`, header, "Content-Type: application/merge-patch+json", "Scope: paris & nantes").want(t, 201)
	if ops := m.sites[lyon].operations(); len(ops) != 1 || len(ops[0].After) != 1 || ops[0].After[0].String() != after {
		t.Errorf("what is passed on for a client says %v", ops)
	}
}

func TestARequestThatWouldComeBeforeIsRefused(t *testing.T) {
	m := newMesh(t)
	s := m.sites[paris]
	s.reached = func(context.Context, engine.After) error {
		return &engine.Refusal{Status: http.StatusGatewayTimeout, Type: "behind", Detail: "not yet"}
	}
	after := engine.MakeAfter(engine.DocumentID(strings.Repeat("0a", 32)), &engine.Operation{Line: engine.LineOf(lyon, "r1"), Number: 7}, nil).String()
	a := s.do("PUT", "/images/i", `{}`, "Skerry-After: "+after).want(t, 504)
	if !strings.Contains(a.body, "/problems/behind") || !strings.Contains(a.body, `"missing":["`+after+`"]`) || a.header.Get("Retry-After") == "" {
		t.Errorf("refused with %v %s", a.header, a.body)
	}
	if len(s.app.asked())+len(s.operations()) > 0 {
		t.Error("it has run all the same")
	}
	s.do("GET", "/images/i", "", "Skerry-After: nonsense").want(t, 400)
}
