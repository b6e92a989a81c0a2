package acceptance

import (
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// bootFromElsewhere boots servers at paris from images that nantes has: shared, then replicated and used during a cut, then
// from whoever has it.
func bootFromElsewhere(t *testing.T, e *env.Env) {
	paris, nantes := e.Site("paris"), e.Site("nantes")
	const read = "GET /images/{id}"
	debian := made(t, nantes, lab.Images, "", `{"name":"debian of nantes"}`)

	if a := boot(t, paris, "", "none", debian, ""); a.Status != 422 || !strings.Contains(a.Body, "there is no image") {
		t.Errorf("without a scope paris booted from what only nantes has: %d %s", a.Status, a.Body)
	}
	asked, here := received(t, nantes, lab.Images, read), received(t, paris, lab.Images, read)
	shared := boot(t, paris, "{servers: paris, images: nantes}", "shared", debian, "").Must(t, 201)
	if n, m := received(t, nantes, lab.Images, read)-asked, received(t, paris, lab.Images, read)-here; n != 1 || m != 0 {
		t.Errorf("the images service was asked %d times at nantes and %d times at paris", n, m)
	}
	if a := paris.Application(t, lab.Servers, "GET /servers/"+shared.Text("id"), "").Must(t, 200); a.Text("image") != debian {
		t.Errorf("paris has %s", a.Body)
	}

	nantes.Do(t, lab.Images, "PATCH /images/"+debian, `{"tags":["of both"]}`, append(merge, "Scope", both)...).Must(t, 200)
	for _, s := range []*env.Site{paris, nantes} {
		eventually(t, e, patience, s.Name()+" has the image", func() bool {
			return s.API(t, "GET /api/v1/resources/"+debian, "").Status == 200 && stateOf(t, s, debian) == "converged"
		})
	}
	alpine := made(t, nantes, lab.Images, "", `{"name":"alpine of nantes"}`)
	const either = "{servers: paris, images: paris | nantes}"
	boot(t, paris, either, "from nantes", alpine, "").Must(t, 201)

	nantes.Cut(t)
	// Paris does not know yet that nantes is silent: the local replica answers first.
	boot(t, paris, either, "during the cut", debian, "").Must(t, 201)
	boot(t, paris, "", "alone", debian, "").Must(t, 201)
	eventually(t, e, patience, "paris misses nantes", func() bool { return !reaches(t, paris, "nantes") })
	if a := boot(t, paris, "{servers: paris, images: nantes}", "none", alpine, ""); a.Status < 500 {
		t.Errorf("paris booted from an image that nobody can reach: %d %s", a.Status, a.Body)
	}
	heal(t, e, nantes)

	want := []string{"alone", "during the cut", "from nantes", "shared"}
	if got := names(t, paris.Do(t, lab.Servers, "GET /servers", "").Must(t, 200).Body, "name"); !slices.Equal(got, want) {
		t.Errorf("paris has the servers %v, want %v", got, want)
	}
}

// listTwoSites lists the servers of paris & nantes from either and from the site between, also during a cut.
func listTwoSites(t *testing.T, e *env.Env) {
	paris, nantes, toulouse := e.Site("paris"), e.Site("nantes"), e.Site("toulouse")
	const servers = "{servers: paris & nantes}"
	image := made(t, paris, lab.Images, both, `{"name":"to be listed"}`)
	converge(t, e, paris, image)
	boot(t, paris, "", "of paris", image, "").Must(t, 201)
	boot(t, nantes, "", "of nantes", image, "").Must(t, 201)
	twice := boot(t, paris, servers, "of both", image, "").Must(t, 201).Text("id")
	converge(t, e, paris, twice)

	list := func(s *env.Site, scope, without string, want ...string) {
		t.Helper()
		a := missing(t, e, without, func() env.Answer { return s.Do(t, lab.Servers, "GET /servers", "", scoped(scope)...) })
		got := slices.DeleteFunc(names(t, a.Body, "name"), func(n string) bool { return !strings.HasPrefix(n, "of ") })
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %v without %q, want %v", s.Name(), got, without, want)
		}
	}
	for _, s := range e.Sites() {
		list(s, servers, "", "of both", "of nantes", "of paris")
	}
	list(paris, "", "", "of both", "of paris")
	nantes.Cut(t)
	list(paris, servers, "nantes", "of both", "of paris")
	list(toulouse, servers, "nantes", "of both", "of paris")
	list(nantes, servers, "paris", "of both", "of nantes")
	heal(t, e, nantes)
}
