package page_test

import (
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/web/webtest"
)

func TestAnOperationTellsWhatBuildsOnItAndWhenItIsTriedAgain(t *testing.T) {
	site := webtest.Generous()
	site.AddResource(engine.ResourceRow{ID: "lan", Service: "networks", Kind: "network", Collaboration: engine.Replication, State: engine.StateConverging,
		CreatedAt: time.Now(), Sites: map[engine.SiteID]engine.ReplicaStatus{site.Self(): {State: engine.StateConverging}}})
	for _, o := range []struct {
		id      engine.OperationID
		parents []engine.OperationID
	}{{"first", nil}, {"second", []engine.OperationID{"first"}}, {"third", []engine.OperationID{"second"}}} {
		site.AddOperation(engine.OperationRow{ID: o.id, Resource: "lan", Type: engine.TypeMerge, Service: "networks", Kind: "network", Method: "PATCH",
			Path: "/networks/{id}", Origin: site.Self(), IssuedAt: time.Now(), Parents: o.parents, State: engine.StatePending,
			Sites: map[engine.SiteID]engine.OperationStatus{site.Self(): {State: engine.StatePending, Attempts: 2}}})
	}
	address := serve(t, site)
	_, body := ask(t, "GET", address+"/operations/second", nil)
	_, about, _ := strings.Cut(body, "Builds on")
	for _, want := range []string{`href="/operations/first"`, `href="/operations/third"`} {
		if !strings.Contains(about, want) {
			t.Errorf("no %s in %s", want, about)
		}
	}
	if lanes, _, _ := strings.Cut(body, "Builds on"); !strings.Contains(lanes, "Next try ") {
		t.Errorf("no next try in %s", lanes)
	}
	if _, body := ask(t, "GET", address+"/operations/third", nil); !strings.Contains(body, "nothing after it") {
		t.Errorf("what is last: %s", mainOf(body))
	}
	if _, body := ask(t, "GET", address+"/api/v1/operations/second", nil); !strings.Contains(body, `"children":["third"]`) || strings.Contains(body, `"next_try":null`) {
		t.Errorf("the twin: %s", body)
	}
}

// TestEachSiteTellsItsAttempts looks at an operation that three sites have come differently far with.
func TestEachSiteTellsItsAttempts(t *testing.T) {
	site := webtest.Generous()
	address := serve(t, site)
	const path = "/operations/019aa3f0-8c22-7e53-9c70-22c3d4e5f607"
	_, body := ask(t, "GET", address+path, nil)
	own := []string{"It cannot be reached (connection refused)", "It answered &#34;starting&#34; (503 Service Unavailable)", "259.0 MiB of 700.0 MiB (37 %)", `<progress max="734003200" value="271581184"`}
	for _, want := range append(own, "Each attempt, and when it goes on, only toulouse knows.", `href="`+path+`?site=toulouse"`) {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, mainOf(body))
		}
	}
	if strings.Contains(body, "only nantes knows") {
		t.Error("where it is applied there is nothing to ask for")
	}
	_, body = ask(t, "GET", address+path+"?site=toulouse", nil)
	for _, want := range append(own, `<ol start="11">`, "Next try ") {
		if !strings.Contains(body, want) {
			t.Errorf("toulouse was asked: no %s in %s", want, mainOf(body))
		}
	}
	site.SetFault(func(method string) error {
		if method == "Peer" {
			return engine.ErrUnreachable
		}
		return nil
	})
	if _, body = ask(t, "GET", address+path+"?site=toulouse", nil); !strings.Contains(body, "toulouse has not told its attempts: toulouse cannot be reached") {
		t.Errorf("toulouse cannot be asked: %s", mainOf(body))
	}
}

// An operation that sends nothing to an application has no method and no path; people find and open it all the same.
func TestAnOperationWithoutARequestIsToldByItsType(t *testing.T) {
	site := webtest.Generous()
	site.AddResource(engine.ResourceRow{ID: "lan", Service: "networks", Kind: "network", Collaboration: engine.Replication, State: engine.StateConverged,
		CreatedAt: time.Now(), Sites: map[engine.SiteID]engine.ReplicaStatus{site.Self(): {State: engine.StateConverged}}})
	site.AddOperation(engine.OperationRow{ID: "moved", Resource: "lan", Type: engine.TypePlace, Method: engine.MethodDivide, Service: "networks", Kind: "network",
		Origin: site.Self(), IssuedAt: time.Now(), State: engine.StateApplied,
		Sites: map[engine.SiteID]engine.OperationStatus{site.Self(): {State: engine.StateApplied}}})
	address := serve(t, site)
	if _, body := ask(t, "GET", address+"/operations?resource=lan", nil); !strings.Contains(body, `href="/operations/moved"><span class="method">place</span> <span class="id">lan</span>`) {
		t.Errorf("the list: %s", mainOf(body))
	}
	if _, body := ask(t, "GET", address+"/operations/moved", nil); !strings.Contains(body, "place lan</h1>") {
		t.Errorf("its page: %s", mainOf(body))
	}
}
