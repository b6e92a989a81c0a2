package intercept

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skerry/skerry/engine"
)

const plainJSON = "Content-Type: application/json"

// condition is a body whose condition is a version.
func condition(version string) string {
	return fmt.Sprintf(`{"metadata":{"name":"both","resourceVersion":%q}}`, version)
}

func TestAChangeOnTheConditionOfAVersionOfSeveralSites(t *testing.T) {
	atParis, atNantes := newFakeCluster(10, "both", "alone"), newFakeCluster(500, "both")
	m := newWatched(t, atParis, atNantes)
	m.replicate("both", map[engine.SiteID]engine.LocalID{paris: "both", nantes: "both"})
	s := m.sites[paris]
	l, _ := readList(t, s.do("GET", "/pods", "", scopeOfTwo).body)
	own := l.Items[1].Metadata.ResourceVersion // of both, as paris has it
	for _, version := range []string{own, l.Metadata.ResourceVersion} {
		s.do("PUT", "/pods/both", condition(version), plainJSON).want(t, 201)
	}
	for _, op := range s.operations() {
		if !strings.Contains(string(op.Body), `"resourceVersion":"11"`) {
			t.Errorf("the application gets %s", op.Body)
		}
	}
	elsewhere, _ := readList(t, m.sites[nantes].do("GET", "/pods", "", scopeOfTwo).body)
	theirs := elsewhere.Items[0].Metadata.ResourceVersion
	if a := s.do("PUT", "/pods/both", condition(theirs), plainJSON).want(t, 409); !strings.Contains(a.body, "was read at another site") {
		t.Error(a.body)
	}
	atParis.set("both")
	for _, version := range []string{own, l.Metadata.ResourceVersion} {
		if a := s.do("PUT", "/pods/both", condition(version), plainJSON).want(t, 409); !strings.Contains(a.body, "modified since") || !strings.Contains(a.body, `"Conflict"`) {
			t.Error(a.body)
		}
	}
	if n := len(s.operations()); n != 2 {
		t.Errorf("there are %d operations", n)
	}
	s.do("PATCH", "/pods/both", `{"metadata":{"resourceVersion":"3"}}`, "Content-Type: application/merge-patch+json").want(t, 201)
	if ops := s.operations(); !strings.Contains(string(ops[2].Body), `"3"`) {
		t.Errorf("a condition of one cluster is sent as %s", ops[2].Body)
	}
}

func TestADeleteOnACondition(t *testing.T) {
	atParis := newFakeCluster(10, "both", "alone")
	m := newWatched(t, atParis, newFakeCluster(500, "both"))
	m.replicate("both", map[engine.SiteID]engine.LocalID{paris: "both", nantes: "both"})
	s := m.sites[paris]
	s.do("DELETE", "/pods/both", `{"preconditions":{"resourceVersion":"10"}}`, plainJSON).want(t, 409)
	s.do("DELETE", "/pods/both", `{"preconditions":{"uid":"of nantes"}}`, plainJSON).want(t, 409)
	if len(s.operations()) != 0 {
		t.Fatal("it has become an operation")
	}
	s.do("DELETE", "/pods/both", `{"preconditions":{"resourceVersion":"11"},"propagationPolicy":"Foreground"}`, plainJSON).want(t, 201)
	if ops := s.operations(); len(ops) != 1 || string(ops[0].Body) != `{"propagationPolicy":"Foreground"}` {
		t.Errorf("the operations are %+v", ops)
	}
}
