package acceptance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skerry/skerry/testnet/lab"
)

// TestUpstreamFails orders faults of the application at the origin. What a fault strikes may be a client's request or
// the agent's own, when it finds out what became of one; either way nothing happens twice.
func TestUpstreamFails(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris, nantes := e.Site("paris"), e.Site("nantes")
	acknowledged, failed := []string{}, 0
	for i, fault := range []string{
		`{"method":"POST","path":"/images","status":503}`,             // failed and not done
		`{"method":"POST","path":"/images","status":500,"done":true}`, // failed but done
		`{"method":"POST","path":"/images","drop":true}`,
		`{"method":"POST","path":"/images","drop":true,"done":true}`,
		`{"method":"POST","path":"/images","body":"<html>hello"}`, // no image
		`{"method":"DELETE","status":500}`,                        // strikes nothing
	} {
		paris.Application(t, lab.Images, "POST /-/faults", fault).Must(t, 204)
		name := fmt.Sprintf("image %d", i)
		a := paris.Do(t, lab.Images, "POST /images", `{"name":"`+name+`"}`, "Scope", both)
		switch {
		case a.Status == 201:
			acknowledged = append(acknowledged, name)
		case a.Status >= 500:
			failed++
		default:
			t.Errorf("%s: answered %d %s", fault, a.Status, a.Body)
		}
	}
	if failed == 0 || !slices.Contains(acknowledged, "image 5") {
		t.Errorf("%d requests failed, acknowledged were %v", failed, acknowledged)
	}
	e.Eventually(t, patience, "both sites hold the same, each image once", func() error {
		p, n := held(t, paris), held(t, nantes)
		if !slices.Equal(p, n) || len(repeated(p)) > 0 {
			return fmt.Errorf("paris holds %v, nantes %v", p, n)
		}
		return nil
	})
	if lost := without(acknowledged, held(t, paris)); len(lost) > 0 {
		t.Errorf("acknowledged and lost: %v", lost)
	}
}

// TestUpstreamIsDown stops the application at one site of two.
func TestUpstreamIsDown(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris, nantes := e.Site("paris"), e.Site("nantes")
	if err := nantes.StopApplication(); err != nil {
		t.Fatal(err)
	}
	problem(t, prompt(t, nantes, "GET /images", ""), 502, "upstream")
	problem(t, prompt(t, nantes, "POST /images", `{"name":"x"}`, "Scope", both), 502, "upstream")
	id := create(t, paris, both, `{"name":"debian"}`)
	op := operationOf(t, paris, id)
	if state := operationAt(t, paris, op, "nantes"); state != "pending" {
		t.Errorf("at nantes it is %s", state)
	}
	if err := nantes.StartApplication(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Eventually(t, patience, "nantes catches up", func() error {
		if got := held(t, nantes); !slices.Equal(got, []string{"debian"}) {
			return fmt.Errorf("it holds %v", got)
		}
		if state := operationAt(t, paris, op, "nantes"); state != "applied" {
			return fmt.Errorf("paris says %s", state)
		}
		return nil
	})
}

// TestUpstreamIsSlow delays one request, for longer than all else takes; others do not wait for it.
func TestUpstreamIsSlow(t *testing.T) {
	e := labAt(t, "paris", "nantes")
	paris := e.Site("paris")
	paris.Application(t, lab.Images, "POST /-/faults", `{"method":"POST","path":"/images","delay":"10s"}`).Must(t, 204)
	slow := make(chan struct{})
	go func() {
		a, err := paris.Request(t.Context(), lab.Images, "POST /images", `{"name":"slow"}`, "Scope", both)
		if err != nil || a.Status != 201 {
			t.Errorf("the slow one got %d %s, %v", a.Status, a.Body, err)
		}
		close(slow)
	}()
	eventually(t, e, patience, "the slow request has arrived", func() bool {
		return paris.Application(t, lab.Images, "GET /-/faults", "").Body == "[]"
	})
	create(t, paris, both, `{"name":"quick"}`)
	prompt(t, paris, "GET /images", "").Must(t, 200)
	select {
	case <-slow:
		t.Error("the others were answered after the slow one")
	default:
	}
	<-slow
}
