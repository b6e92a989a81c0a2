package acceptance

import (
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// chapters are what sites do together, in the order of the walk-through (docs/walk-through.md). Each makes what it needs, and leaves
// the sites as it found them: all within reach of each other.
var chapters = []struct {
	name string
	run  func(t *testing.T, e *env.Env)
}{
	{"a server from the image of another site", bootFromElsewhere},
	{"the servers of two sites in one list", listTwoSites},
	{"a group of servers spread over two sites", spreadServers},
	{"a replicated resource is made cross and back", crossAndBack},
	{"a network spread over two sites", spreadNetwork},
	{"what is relied on is not deleted", reliedOn},
	{"cut off from what it relies on", cutOffFromWhatItReliesOn},
	{"a flat network", flatNetwork},
	{"a large body", replicateALargeBody},
}

// TestChapters runs all in one mesh.
func TestChapters(t *testing.T) {
	e := labAt(t, "paris", "nantes", "toulouse")
	meet(t, e)
	for _, c := range chapters {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, e)
			meet(t, e)
		})
		if t.Failed() {
			return // the next would tell of this one's cuts
		}
	}
}

// meet waits until every site says that it reaches every other.
func meet(t testing.TB, e *env.Env) {
	t.Helper()
	for _, x := range e.Sites() {
		for _, y := range e.Sites() {
			eventually(t, e, patience, x.Name()+" reaches "+y.Name(), func() bool { return x == y || reaches(t, x, y.Name()) })
		}
	}
}

// heal ends a cut once both sides have noticed it. A connection that lasts through a shorter one may still die of it after it is over,
// and meet would not tell.
func heal(t testing.TB, e *env.Env, s *env.Site) {
	t.Helper()
	noticed(t, e, s)
	s.Heal(t)
}

// noticed waits until a site that is cut off and all others say that they do not reach each other.
func noticed(t testing.TB, e *env.Env, s *env.Site) {
	t.Helper()
	for _, x := range e.Sites() {
		if x == s {
			continue
		}
		eventually(t, e, patience, x.Name()+" and "+s.Name()+" notice the cut", func() bool {
			return !reaches(t, x, s.Name()) && !reaches(t, s, x.Name())
		})
	}
}

// made creates something, with a scope if that is not empty, and returns its identifier.
func made(t testing.TB, s *env.Site, service, scope, body string) string {
	t.Helper()
	return s.Do(t, service, "POST /"+service, body, scoped(scope)...).Must(t, 201).Text("id")
}

// scoped returns the header of a request with a scope; none for the empty one.
func scoped(scope string) []string {
	if scope == "" {
		return nil
	}
	return []string{"Scope", scope}
}

// boot asks a site for a server.
func boot(t testing.TB, s *env.Site, scope, name, image, network string) env.Answer {
	t.Helper()
	return s.Do(t, lab.Servers, "POST /servers", `{"name":"`+name+`","image":"`+image+`","network":"`+network+`"}`, scoped(scope)...)
}

// converge waits until a site says that a resource has converged.
func converge(t testing.TB, e *env.Env, s *env.Site, ids ...string) {
	t.Helper()
	for _, id := range ids {
		eventually(t, e, patience, s.Name()+" says that "+id+" has converged", func() bool {
			a := s.API(t, "GET /api/v1/resources/"+id, "")
			return a.Status == 200 && a.Text("state") == "converged"
		})
	}
}
