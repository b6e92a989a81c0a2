package acceptance

import (
	"slices"
	"strings"
	"testing"

	"github.com/skerry/skerry/testnet/env"
	"github.com/skerry/skerry/testnet/lab"
)

// story is one run through a cut: three sites with an unmodified application each.
type story struct {
	*testing.T
	env                     *env.Env
	paris, nantes, toulouse *env.Site
	// debian is changed on both sides of the cut, old is deleted on one.
	debian, old string
	put         string // the operation that changed debian at paris
	// During the cut one image was made on each side.
	fromParis, fromNantes string
}

// TestTheWholeWay is what Skerry is for: resources at two sites, a cut between them, work on both sides, a crash in the
// middle, and one state everywhere when the cut is over.
func TestTheWholeWay(t *testing.T) {
	e := labAt(t, "paris", "nantes", "toulouse")
	s := &story{T: t, env: e, paris: e.Site("paris"), nantes: e.Site("nantes"), toulouse: e.Site("toulouse")}
	s.everySiteIsUp()
	s.createAtTwo()
	s.readEverywhere()
	s.nantes.Cut(t)
	s.readAtTheSiteOutside("debian")
	s.workOnBothSides()
	s.tellTheTruthDuringTheCut()
	s.crash()
	heal(t, e, s.nantes)
	s.converge()
	s.tellTheTruthAfterwards()
}

func (s *story) createAtTwo() {
	s.debian = create(s, s.paris, both, `{"name":"debian","size":3}`)
	s.old = create(s, s.nantes, both, `{"name":"old"}`)
	for _, id := range []string{s.debian, s.old} {
		eventually(s, s.env, patience, "the resource "+id+" has converged at both", func() bool {
			return s.stateEverywhere(id, "converged")
		})
	}
	for _, x := range []*env.Site{s.paris, s.nantes} {
		if got := held(s, x); !slices.Equal(got, []string{"debian", "old"}) {
			s.Errorf("the application of %s holds %v", x.Name(), got)
		}
	}
	if got := held(s, s.toulouse); len(got) != 0 {
		s.Errorf("toulouse is not in the scope, and its application holds %v", got)
	}
}

// stateEverywhere reports whether both sites of the placement say that a resource is in a state.
func (s *story) stateEverywhere(id, state string) bool {
	for _, x := range []*env.Site{s.paris, s.nantes} {
		a := x.API(s, "GET /api/v1/resources/"+id, "")
		if a.Status != 200 || a.Text("state") != state {
			return false
		}
	}
	return true
}

func (s *story) readEverywhere() {
	for _, x := range []*env.Site{s.paris, s.nantes} {
		a := prompt(s, x, "GET /images/"+s.debian, "").Want(s, 200)
		if a.Text("id") != s.debian || a.Text("name") != "debian" || a.Fields()["size"] != 3.0 {
			s.Errorf("%s shows %s", x.Name(), a.Body)
		}
	}
	a := prompt(s, s.toulouse, "GET /images/"+s.debian, "", "Scope", both).Want(s, 200)
	if site := a.Header.Get("Skerry-Site"); a.Text("id") != s.debian || (site != "paris" && site != "nantes") {
		s.Errorf("toulouse shows %s, answered by %q", a.Body, site)
	}
	// Each application has an identifier of its own: at one of the two it is not the one that clients use.
	own := s.nantes.Application(s, lab.Images, "GET /images/"+s.debian, "")
	if own.Status != 404 {
		s.Errorf("the application of nantes knows the identifier that paris assigned: %s", own.Body)
	}
}

func (s *story) everySiteIsUp() {
	for _, x := range s.env.Sites() {
		for _, y := range s.env.Sites() {
			eventually(s, s.env, patience, x.Name()+" says that it reaches "+y.Name(), func() bool {
				return reaches(s, x, y.Name()) || x == y
			})
		}
		s.pageShows(x, "/", "paris", "nantes", "toulouse")
	}
}

func (s *story) pageShows(x *env.Site, path string, words ...string) {
	s.Helper()
	a := x.API(s, "GET "+path, "", "Accept", "text/html")
	for _, w := range words {
		if a.Status != 200 || !strings.Contains(a.Body, w) {
			s.Errorf("the page %s of %s does not show %q", path, x.Name(), w)
		}
	}
}

func (s *story) workOnBothSides() {
	put := prompt(s, s.paris, "PUT /images/"+s.debian, `{"name":"debian","size":3,"description":"changed at paris"}`).Want(s, 200)
	s.put = put.Header.Get("Skerry-Operation")
	patch := prompt(s, s.nantes, "PATCH /images/"+s.debian, `{"status":"checked at nantes"}`, merge...).Want(s, 200)
	if put.Text("id") != s.debian || patch.Text("id") != s.debian || s.put == "" {
		s.Errorf("the changes were answered with %s and %s", put.Body, patch.Body)
	}
	s.fromParis = create(s, s.paris, both, `{"name":"made at paris"}`)
	s.fromNantes = create(s, s.nantes, both, `{"name":"made at nantes"}`)
	prompt(s, s.paris, "DELETE /images/"+s.old, "").Want(s, 204)
}

func (s *story) tellTheTruthDuringTheCut() {
	prompt(s, s.paris, "GET /images/"+s.old, "").Want(s, 404)
	prompt(s, s.nantes, "GET /images/"+s.old, "").Want(s, 200)
	prompt(s, s.nantes, "GET /images/"+s.fromParis, "").Want(s, 404)
	if a := prompt(s, s.paris, "GET /images/"+s.debian, "").Want(s, 200); a.Text("description") != "changed at paris" ||
		a.Text("status") == "checked at nantes" {
		s.Errorf("paris shows %s", a.Body)
	}
	if a := prompt(s, s.nantes, "GET /images/"+s.debian, "").Want(s, 200); a.Text("description") == "changed at paris" ||
		a.Text("status") != "checked at nantes" {
		s.Errorf("nantes shows %s", a.Body)
	}
	s.readAtTheSiteOutside("changed at paris")
	for _, x := range []*env.Site{s.paris, s.nantes} {
		if state := stateOf(s, x, s.debian); state == "converged" {
			s.Errorf("%s says that %s has converged", x.Name(), s.debian)
		}
		s.pageShows(x, "/resources/"+s.debian, s.debian, stateOf(s, x, s.debian))
	}
	if here, there := operationAt(s, s.paris, s.put, "paris"), operationAt(s, s.paris, s.put, "nantes"); here != "applied" || there != "pending" {
		s.Errorf("paris says of its change: %s at paris, %s at nantes", here, there)
	}
	eventually(s, s.env, patience, "both sides of the cut say so", func() bool {
		s.readAtTheSiteOutside("changed at paris")
		return !reaches(s, s.paris, "nantes") && !reaches(s, s.nantes, "paris") && reaches(s, s.paris, "toulouse")
	})
}

// readAtTheSiteOutside reads at toulouse, during the cut. It is on the side of paris and has to get its answers from
// there in time, also while it does not know yet that nantes is silent.
func (s *story) readAtTheSiteOutside(words string) {
	s.Helper()
	for _, path := range []string{"/images/" + s.debian, "/images"} {
		a := prompt(s, s.toulouse, "GET "+path, "", "Scope", both).Want(s, 200)
		if site := a.Header.Get("Skerry-Site"); site != "paris" || !strings.Contains(a.Body, s.debian) || !strings.Contains(a.Body, words) {
			s.Errorf("toulouse shows %s, answered by %q", a.Body, site)
		}
		if missing := a.Header.Get("Skerry-Missing"); path == "/images" && missing != "nantes" {
			s.Errorf("toulouse says that %q is missing from %s", missing, a.Body)
		}
	}
}

// crash kills the agent of paris at once after it has acknowledged a change, and starts it again.
func (s *story) crash() {
	prompt(s, s.paris, "PATCH /images/"+s.fromParis, `{"description":"just before the crash"}`, merge...).Want(s, 200)
	s.paris.Kill(s.T)
	s.paris.Start(s.T)
	if a := prompt(s, s.paris, "GET /images/"+s.fromParis, "").Want(s, 200); a.Text("description") != "just before the crash" {
		s.Errorf("after the crash paris shows %s", a.Body)
	}
	prompt(s, s.paris, "GET /images/"+s.old, "").Want(s, 404)
	if here, there := operationAt(s, s.paris, s.put, "paris"), operationAt(s, s.paris, s.put, "nantes"); here != "applied" || there != "pending" {
		s.Errorf("after the crash paris says of its change: %s at paris, %s at nantes", here, there)
	}
}

func (s *story) converge() {
	s.env.Eventually(s, patience, "paris and nantes show the same, with all that was done", func() error {
		p, err := listed(s, s.paris)
		if err != nil {
			return err
		}
		n, err := listed(s, s.nantes)
		if err != nil {
			return err
		}
		if err := same(p, n); err != nil {
			return err
		}
		return s.isWhole(p)
	})
	for _, id := range []string{s.debian, s.fromParis, s.fromNantes} {
		x := prompt(s, s.toulouse, "GET /images/"+id, "", "Scope", both).Want(s, 200)
		y := prompt(s, s.paris, "GET /images/"+id, "").Want(s, 200)
		shown, err := images("[" + x.Body + "]")
		if err != nil {
			s.Fatal(err)
		}
		own, err := images("[" + y.Body + "]")
		if err != nil {
			s.Fatal(err)
		}
		if err := same(shown, own); err != nil {
			s.Errorf("toulouse and paris: %v", err)
		}
	}
}

// isWhole says what a list lacks of what was done on both sides, or has too much.
func (s *story) isWhole(list map[string]map[string]any) error {
	want := map[string]map[string]any{
		s.debian:     {"name": "debian", "description": "changed at paris", "status": "checked at nantes"},
		s.fromParis:  {"name": "made at paris", "description": "just before the crash"},
		s.fromNantes: {"name": "made at nantes"},
	}
	got := map[string]map[string]any{}
	for id, fields := range list {
		got[id] = map[string]any{}
		for f := range want[id] {
			got[id][f] = fields[f]
		}
	}
	return same(got, want)
}

func (s *story) tellTheTruthAfterwards() {
	for _, x := range []*env.Site{s.paris, s.nantes} {
		if got := held(s, x); !slices.Equal(got, []string{"debian", "made at nantes", "made at paris"}) {
			s.Errorf("the application of %s holds %v", x.Name(), got)
		}
		if n := done(s, x, lab.Images, "POST /images"); n != 4 {
			s.Errorf("%d images were made at %s, want 4", n, x.Name())
		}
		if n := done(s, x, lab.Images, "DELETE /images/{id}"); n != 1 {
			s.Errorf("%d images were deleted at %s, want 1", n, x.Name())
		}
	}
	if got := held(s, s.toulouse); len(got) != 0 {
		s.Errorf("the application of toulouse holds %v", got)
	}
	for _, id := range []string{s.debian, s.fromParis, s.fromNantes} {
		eventually(s, s.env, patience, "both say that "+id+" has converged", func() bool {
			return s.stateEverywhere(id, "converged")
		})
	}
	for _, site := range []string{"paris", "nantes"} {
		for _, x := range []*env.Site{s.paris, s.nantes} {
			if state := operationAt(s, x, s.put, site); state != "applied" {
				s.Errorf("%s says that the change of paris is %s at %s", x.Name(), state, site)
			}
		}
	}
	s.everySiteIsUp()
	s.pageShows(s.nantes, "/resources/"+s.debian, s.debian, "converged")
}
