package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// TestAPlacementThatChanges adds a site while another is cut off, with content beside the representation, and removes that
// other one later.
func TestAPlacementThatChanges(t *testing.T) {
	e := labAt(t, "paris", "nantes", "toulouse")
	paris, nantes, toulouse := e.Site("paris"), e.Site("nantes"), e.Site("toulouse")
	for _, x := range e.Sites() {
		for _, y := range e.Sites() {
			eventually(t, e, patience, x.Name()+" reaches "+y.Name(), func() bool { return x == y || reaches(t, x, y.Name()) })
		}
	}
	id := create(t, paris, both, `{"name":"debian"}`)
	prompt(t, paris, "PUT /images/"+id+"/file", "the bytes", "Content-Type", "application/octet-stream").Must(t, 200)
	file := func(s *env.Site, want string) {
		t.Helper()
		e.Eventually(t, patience, s.Name()+" has the file", func() error {
			a := prompt(t, s, "GET /images/"+id+"/file", "")
			if site := a.Header.Get("Skerry-Site"); a.Status != 200 || a.Body != want || site != s.Name() {
				return fmt.Errorf("%d %q from %s", a.Status, a.Body, site)
			}
			return nil
		})
	}
	file(nantes, "the bytes")

	nantes.Cut(t)
	eventually(t, e, patience, "paris says so", func() bool { return !reaches(t, paris, "nantes") })
	// toulouse has no part in it, and gives itself none.
	problem(t, toulouse.API(t, "PATCH /api/v1/resources/"+id, `{"add":["toulouse"]}`), 503, "unreachable")
	p := paris.API(t, "PATCH /api/v1/resources/"+id, `{"add":["toulouse"]}`).Must(t, 202)
	prompt(t, paris, "PATCH /images/"+id, `{"description":"of paris"}`, merge...).Must(t, 200)
	prompt(t, nantes, "PATCH /images/"+id, `{"tags":["of nantes"]}`, merge...).Must(t, 200)
	file(toulouse, "the bytes")
	eventually(t, e, patience, "toulouse says that it has joined", func() bool { return operationAt(t, toulouse, p.Text("id"), "toulouse") == "applied" })
	if there := operationAt(t, toulouse, p.Text("id"), "nantes"); there != "pending" {
		t.Errorf("toulouse says that it is %s at nantes", there)
	}
	heal(t, e, nantes)
	converged := func(sites ...*env.Site) {
		t.Helper()
		e.Eventually(t, patience, "all show the same", func() error {
			var first map[string]map[string]any
			for _, s := range sites {
				if state := stateOf(t, s, id); state != "converged" {
					return fmt.Errorf("%s says that it is %s", s.Name(), state)
				}
				shows, err := listed(t, s)
				if err != nil {
					return err
				}
				if first == nil {
					first = shows
				}
				if err := same(first, shows); err != nil {
					return err
				}
			}
			return nil
		})
	}
	converged(paris, nantes, toulouse)
	a := prompt(t, toulouse, "GET /images/"+id, "").Must(t, 200)
	if !strings.Contains(a.Body, "of nantes") || a.Text("description") != "of paris" {
		t.Errorf("toulouse shows %s", a.Body)
	}
	if n := done(t, toulouse, lab.Images, "POST /images"); n != 1 {
		t.Errorf("toulouse was asked %d times to make an image", n)
	}
	for _, s := range e.Sites() {
		file(s, "the bytes")
	}

	nantes.API(t, "PATCH /api/v1/resources/"+id, `{"sites":["paris","toulouse"]}`).Must(t, 202)
	eventually(t, e, patience, "nantes has left", func() bool { return stateOf(t, nantes, id) == "left" })
	for _, s := range []*env.Site{paris, toulouse} {
		eventually(t, e, patience, s.Name()+" knows that nantes has left", func() bool {
			sites, _ := s.API(t, "GET /api/v1/resources/"+id, "").Must(t, 200).Fields()["sites"].(map[string]any)
			return len(sites) == 2 && sites["nantes"] == nil
		})
	}
	prompt(t, toulouse, "PATCH /images/"+id, `{"description":"a secret"}`, merge...).Must(t, 200)
	prompt(t, paris, "PUT /images/"+id+"/file", "other bytes", "Content-Type", "application/octet-stream").Must(t, 200)
	converged(paris, toulouse)
	file(toulouse, "other bytes")
	kept, err := images(nantes.Application(t, lab.Images, "GET /images", "").Must(t, 200).Body)
	if err != nil || len(kept) != 1 {
		t.Fatalf("nantes keeps %v, %v", kept, err)
	}
	for own, object := range kept {
		if object["description"] != "of paris" {
			t.Errorf("nantes keeps %v", object)
		}
		// It is an object of nantes alone now: the bytes of the application, whatever the agent.
		x := prompt(t, nantes, "PATCH /images/"+own, `{"description":"of nantes alone"}`, merge...).Must(t, 200)
		if x.Header.Get("Skerry-Resource") != "" || x.Header.Get("Skerry-Operation") != "" {
			t.Errorf("nantes still takes it for a replica: %v", x.Header)
		}
	}
	if ops := nantes.API(t, "GET /api/v1/operations?resource="+id, "").Must(t, 200).Body; strings.Contains(ops, "a secret") {
		t.Errorf("nantes has heard of what came after it had left: %s", ops)
	}
	if a := prompt(t, paris, "GET /images/"+id, "").Must(t, 200); a.Text("description") != "a secret" {
		t.Errorf("paris shows %s", a.Body)
	}
}
