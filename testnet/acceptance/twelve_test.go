package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// twelve are the sites of the largest mesh that is tested with processes.
var twelve = []string{"paris", "nantes", "toulouse", "rennes", "lyon", "lille", "brest", "nice", "metz", "pau", "caen", "tours"}

// TestTwelveSites has resources at all of twelve sites, cuts five of them off, moves two to other addresses, and takes one out for
// good.
func TestTwelveSites(t *testing.T) {
	e := labAt(t, twelve...)
	image := create(t, e.Site("pau"), "{images: *}", `{"name":"debian"}`)
	wantHeldAt(t, e, "debian", e.Sites()...)
	converge(t, e, e.Site("lyon"), image)

	spreadOverTwelve(t, e, image)
	cutFiveOff(t, e)
	moveTwo(t, e)
	removeOne(t, e, image)
}

// wantHeldAt waits until the applications of these sites hold an image, and sees that no other does.
func wantHeldAt(t *testing.T, e *env.Env, name string, sites ...*env.Site) {
	t.Helper()
	for _, s := range e.Sites() {
		want := slices.Contains(sites, s)
		eventually(t, e, patience, fmt.Sprintf("%s has %s: %t", s.Name(), name, want), func() bool {
			return slices.Contains(held(t, s), name) == want
		})
	}
}

// spreadOverTwelve makes a group of 30 servers: the first six parts have three, the others two.
func spreadOverTwelve(t *testing.T, e *env.Env, image string) {
	t.Helper()
	scope := "{servers: " + strings.Join(twelve, " % ") + "}"
	group := e.Site("paris").Do(t, lab.Servers, "POST /servers", `{"name":"group","count":30,"image":"`+image+`"}`, "Scope", scope).Must(t, 201).Text("id")
	for i, s := range e.Sites() {
		want := 3.0 - float64(i/6)
		e.Eventually(t, patience, s.Name()+" has its share", func() error {
			all, err := images(s.Application(t, lab.Servers, "GET /servers", "").Must(t, 200).Body)
			for _, server := range all {
				if server["count"] == want {
					return nil
				}
			}
			return fmt.Errorf("it has %v, %v", all, err)
		})
	}
	for _, s := range e.Sites() {
		eventually(t, e, patience, s.Name()+" reads 30, of all parts", func() bool {
			a := s.Do(t, lab.Servers, "GET /servers/"+group, "").Must(t, 200)
			return a.Fields()["count"] == 30.0 && a.Header.Get("Skerry-Missing") == ""
		})
	}
}

// cutFiveOff leaves a majority, which goes on.
func cutFiveOff(t *testing.T, e *env.Env) {
	t.Helper()
	away, rest := e.Sites()[7:], e.Sites()[:7]
	for _, s := range away {
		s.Cut(t)
	}
	paris := e.Site("paris")
	for _, s := range away {
		eventually(t, e, patience, "paris misses "+s.Name(), func() bool { return !reaches(t, paris, s.Name()) })
	}
	for _, s := range slices.Concat(rest, away[1:]) {
		eventually(t, e, patience, away[0].Name()+" misses "+s.Name(), func() bool { return !reaches(t, away[0], s.Name()) })
	}
	paris.Do(t, lab.Images, "POST /images", `{"name":"of seven"}`, "Scope", "{images: quorum(*)}").Must(t, 201)
	problem(t, paris.Do(t, lab.Images, "POST /images", `{"name":"of none"}`, "Scope", "{images: sync(*)}"), 503, "unreachable")
	wantHeldAt(t, e, "of seven", rest...)
	problem(t, away[0].Do(t, lab.Images, "POST /images", `{"name":"of none"}`, "Scope", "{images: quorum(*)}"), 503, "unreachable")
	for _, s := range away {
		s.Heal(t)
	}
	wantHeldAt(t, e, "of seven", e.Sites()...)
	wantHeldAt(t, e, "of none")
}

// moveTwo gives two sites other addresses at once: neither knows where the other is, and both know others.
func moveTwo(t *testing.T, e *env.Env) {
	t.Helper()
	brest, nice := e.Site("brest"), e.Site("nice")
	brest.Stop(t)
	nice.Stop(t)
	brest.Move(t, "10.77.0.101")
	nice.Move(t, "10.77.0.102")
	brest.Start(t)
	nice.Start(t)
	for _, x := range []*env.Site{brest, nice} {
		for _, y := range e.Sites() {
			eventually(t, e, patience, x.Name()+" and "+y.Name()+" reach each other", func() bool {
				return x == y || reaches(t, x, y.Name()) && reaches(t, y, x.Name())
			})
		}
	}
}

// removeOne takes nantes out while it is cut off and has accepted something.
func removeOne(t *testing.T, e *env.Env, image string) {
	t.Helper()
	nantes, lyon := e.Site("nantes"), e.Site("lyon")
	rest := slices.DeleteFunc(slices.Clone(e.Sites()), func(s *env.Site) bool { return s == nantes })
	nantes.Cut(t)
	eventually(t, e, patience, "lyon misses nantes", func() bool { return !reaches(t, lyon, "nantes") })
	nantes.Do(t, lab.Images, "PATCH /images/"+image, `{"description":"the last of nantes"}`, merge...).Must(t, 200)
	problem(t, lyon.API(t, "DELETE /api/v1/sites/nantes", ""), 403, "authority")
	e.Site("paris").API(t, "DELETE /api/v1/sites/nantes", "").Must(t, 202)
	eventually(t, e, patience, "lyon has heard of it", func() bool {
		return strings.Contains(lyon.API(t, "POST /api/v1/scope/explain", `{"scope":"{images: nantes}"}`).Must(t, 200).Body, "unknown-site")
	})
	problem(t, lyon.Do(t, lab.Images, "POST /images", `{"name":"x"}`, "Scope", "{images: nantes}"), 422, "unknown-site")
	create(t, lyon, "{images: *}", `{"name":"of eleven"}`)
	wantHeldAt(t, e, "of eleven", rest...)
	nantes.Heal(t)

	for _, s := range rest {
		eventually(t, e, patience, s.Name()+" shows the last of nantes, and has dropped it", func() bool {
			a := s.API(t, "GET /api/v1/resources/"+image, "").Must(t, 200)
			_, there := a.Fields()["sites"].(map[string]any)["nantes"]
			return !there && a.Text("state") == "converged" &&
				s.Do(t, lab.Images, "GET /images/"+image, "").Text("description") == "the last of nantes"
		})
		eventually(t, e, patience, s.Name()+" knows no nantes any more", func() bool { return !knows(t, s, "nantes") })
	}
	// It says so itself, and goes on alone with what it has.
	eventually(t, e, patience, "nantes says that it was removed", func() bool {
		return strings.Contains(nantes.API(t, "GET /api/v1/summary", "").Must(t, 200).Body, "this site was taken out of the mesh for good")
	})
	problem(t, nantes.Do(t, lab.Images, "POST /images", `{"name":"x"}`, "Scope", "{images: *}"), 409, "removed")
	nantes.Do(t, lab.Images, "POST /images", `{"name":"its own"}`).Must(t, 201)
	for _, s := range rest {
		eventually(t, e, patience, "nobody talks to nantes", func() bool { return !reaches(t, nantes, s.Name()) })
	}
	create(t, lyon, "{images: *}", `{"name":"of eleven again"}`)
	wantHeldAt(t, e, "of eleven again", rest...)
	wantHeldAt(t, e, "of eleven", rest...)
}

// knows reports whether a site lists another one.
func knows(t *testing.T, s *env.Site, name string) bool {
	t.Helper()
	seen, err := s.Client().Sites(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range seen {
		if x.Name == name {
			return true
		}
	}
	return false
}
