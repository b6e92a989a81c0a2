package mesh

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/testnet/world"
)

// large returns a body of size bytes, another one for each seed.
func large(seed byte, size int) string {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b) // it never fails
	return string(b)
}

// putFile returns the request that puts the file of an image.
func putFile(id engine.ResourceID, body string, placement ...*Site) engine.Request {
	return engine.Request{Kind: Image, Type: engine.TypeAbsolute, Method: "PUT", Path: "/images/{id}/file", Target: string(id),
		Header: map[string]string{"Content-Type": "application/octet-stream"}, Placement: ids(placement...),
		Large: world.Body([]byte(body))}
}

// bodies counts the large bodies that a site has.
func bodies(s *Site) int {
	blobs, kept := s.Blobs.Count()
	return blobs + kept
}

// fileAt waits until a site's application has the file.
func fileAt(t *testing.T, m *Mesh, s *Site, want string) {
	t.Helper()
	until(t, m, func() string {
		if got := s.App.File(); got != want {
			return string(s.Name) + " has another file"
		}
		return ""
	})
}

// forgotten waits until no site has a large body any more.
func forgotten(t *testing.T, m *Mesh, sites ...*Site) {
	t.Helper()
	until(t, m, func() string {
		for _, s := range sites {
			if left := bodies(s); left > 0 {
				return fmt.Sprintf("%s still has %d bodies", s.Name, left)
			}
		}
		return ""
	})
}

func TestLargeBodiesReachEverySiteAndAreForgotten(t *testing.T) {
	m := open(t, Image, 3)
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
	for i, size := range []int{engine.MaxInlineBody + 1, engine.ChunkSize, 3*engine.ChunkSize + 5} {
		body := large(byte(i), size)
		converge(t, m, m.Sites...)
		must(t, 204)(m.Sites[i].Submit(t.Context(), putFile(a.Resource, body)))
		for _, s := range m.Sites {
			fileAt(t, m, s, body)
		}
		forgotten(t, m, m.Sites...)
	}
}

// Whoever has the body gives it, also when the site that it came from is gone; it is kept for whoever still needs it.
func TestALargeBodyIsHandedOn(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	m.Cut(toulouse, true)
	body := large(1, 2*engine.ChunkSize)
	must(t, 204)(paris.Submit(t.Context(), putFile(a.Resource, body)))
	fileAt(t, m, nantes, body)
	m.Reconcile()
	for _, s := range []*Site{paris, nantes} {
		if bodies(s) == 0 {
			t.Errorf("%s does not keep it for toulouse", s.Name)
		}
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		if bodies(s) == 0 {
			t.Errorf("%s does not keep it over its restart", s.Name)
		}
	}
	m.Cut(paris, true)
	m.Cut(toulouse, false)
	fileAt(t, m, toulouse, body)
	m.Cut(paris, false)
	forgotten(t, m, m.Sites...)
}

// While a body is not here its operation waits and says why; other resources do not wait.
func TestAnOperationWaitsForItsBody(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	b := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"other"}`, m.Sites...))
	converge(t, m, m.Sites...)
	come, blocked := 0, true
	nantes.Fetched = func(*world.Site, []byte) error {
		if come == 2 && blocked {
			return errors.New("the connection is cut")
		}
		come++
		return nil
	}
	body := large(1, 4*engine.ChunkSize)
	put := must(t, 204)(paris.Submit(t.Context(), putFile(a.Resource, body)))
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"after":true}`))
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(b.Resource), `{"meanwhile":true}`))
	until(t, m, func() string {
		row, err := nantes.Disk.Operation(t.Context(), put.Operation)
		if st := row.Sites[nantes.ID]; err != nil || st.State != engine.StatePending || !strings.Contains(st.Error, "body") || !strings.Contains(st.Error, "cut") {
			return "nantes does not say why it waits: " + st.Error
		}
		res, err := nantes.Disk.ResourceByID(t.Context(), Image.Service, Image.Name, a.Resource)
		if err != nil || !strings.Contains(res.Sites[nantes.ID].Reason, "body") {
			return "nantes does not say it of the resource: " + res.Sites[nantes.ID].Reason
		}
		return ""
	})
	shows(t, m, nantes, `{"meanwhile":true,"name":"other"}`)
	if err := nantes.Restart(); err != nil {
		t.Fatal(err)
	}
	blocked = false
	until(t, m, func() string {
		for _, f := range nantes.App.files {
			if f == body {
				return ""
			}
		}
		return "nantes has no file"
	})
	shows(t, m, nantes, `{"after":true,"name":"n"}`)
	if come != 4 {
		t.Errorf("%d chunks were fetched of 4: what was here is fetched again", come)
	}
}

// A site that gives something else than the body does no harm: another one is asked.
func TestALargeBodyFromAHostileSite(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	m.Cut(toulouse, true)
	body := large(1, 3*engine.ChunkSize)
	must(t, 204)(paris.Submit(t.Context(), putFile(a.Resource, body)))
	fileAt(t, m, nantes, body)
	var hostile *world.Site
	toulouse.Fetched = func(from *world.Site, chunk []byte) error {
		if hostile == nil {
			hostile = from
		}
		if from == hostile {
			chunk[7] ^= 1
		}
		return nil
	}
	m.Cut(toulouse, false)
	fileAt(t, m, toulouse, body)
}

// A site that is not concerned passes a large body on, and keeps it while nobody can be reached.
func TestALargeBodyForOtherSites(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, lille := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, paris, nantes))
	converge(t, m, paris, nantes)
	body := large(1, 2*engine.ChunkSize+1)
	must(t, 204)(lille.Submit(t.Context(), putFile(a.Resource, body, paris, nantes)))
	fileAt(t, m, paris, body)
	fileAt(t, m, nantes, body)
	forgotten(t, m, m.Sites...)

	m.Cut(lille, true)
	body = strings.Repeat("nobody at lille may see it. ", 100_000)
	kept := must(t, 202)(lille.Submit(t.Context(), putFile(a.Resource, body, paris, nantes)))
	if err := lille.Restart(); err != nil {
		t.Fatal(err)
	}
	if left := bodies(lille); left != 1 {
		t.Fatalf("lille keeps %d bodies", left)
	}
	m.Cut(lille, false)
	until(t, m, func() string {
		if row, err := lille.Disk.Operation(t.Context(), kept.Operation); err != nil || row.State != engine.StateApplied {
			return "lille still keeps it"
		}
		return ""
	})
	fileAt(t, m, paris, body)
	fileAt(t, m, nantes, body)
	forgotten(t, m, m.Sites...)
}

// A body that ends too early leaves nothing, wherever it was to go.
func TestALargeBodyThatDoesNotComeWhole(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, lille := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, paris, nantes))
	converge(t, m, paris, nantes)
	for _, s := range []*Site{paris, lille} {
		r := putFile(a.Resource, "", paris, nantes)
		r.Large = &ends{n: 3 * engine.ChunkSize}
		if _, err := s.Submit(t.Context(), r); !errors.Is(err, engine.ErrIncomplete) {
			t.Errorf("at %s: %v", s.Name, err)
		}
	}
	forgotten(t, m, m.Sites...)
	if n := paris.App.Count("PUT"); n != 0 {
		t.Errorf("it reached the application %d times", n)
	}
}

// A large body goes to the next alternative, whole, however much of it was sent to one that has not done it.
func TestALargeBodyForAlternatives(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, lille := m.Sites[0], m.Sites[1], m.Sites[2]
	body := large(1, 2*engine.ChunkSize+1)
	create := func(alternatives ...*Site) engine.Request {
		r := engine.Request{Kind: Image, Type: engine.TypeCreate, Method: "POST", Path: "/images",
			Header: map[string]string{"Content-Type": "application/octet-stream"}, Large: world.Body([]byte(body))}
		for _, s := range alternatives {
			r.Alternatives = append(r.Alternatives, engine.Alternative{Placement: ids(s)})
		}
		r.Placement = r.Alternatives[0].Placement
		return r
	}
	paris.App.Inject(Refuses) // that has not happened, though the application has got all of it
	nantes.App.Always(Clashes)
	answer := must(t, 503)(lille.Submit(t.Context(), create(paris, nantes)))
	if answer.Site != paris.ID {
		t.Errorf("%s has answered", answer.Site)
	}
	m.Cut(paris, true)
	must(t, 409)(lille.Submit(t.Context(), create(paris, nantes)))
	if tried := nantes.App.Tried(); tried != 1 {
		t.Errorf("nantes was asked %d times", tried)
	}
	lille.App.Always(Clashes)
	m.Cut(nantes, true)
	must(t, 409)(lille.Submit(t.Context(), create(paris, lille)))
	must(t, 202)(lille.Submit(t.Context(), create(paris, nantes)))
	if kept := bodies(lille); kept != 1 {
		t.Errorf("lille keeps %d bodies", kept)
	}
	m.Cut(paris, false)
	m.Cut(nantes, false)
	forgotten(t, m, m.Sites...)
}

// ends is a body that yields n bytes of more, and then says that the client has gone.
type ends struct{ n int }

// Open implements engine.Body.
func (e *ends) Open() (io.ReadCloser, error) { return io.NopCloser(e), nil }

// Size implements engine.Body.
func (e *ends) Size() int64 { return 5 * engine.ChunkSize }

func (e *ends) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, errors.New("the client has gone")
	}
	n := min(e.n, len(p))
	e.n -= n
	return n, nil
}

// Under one Idempotency-Key one body is put once, and another is refused.
func TestALargeBodyWithAKey(t *testing.T) {
	m := open(t, Image, 2)
	paris := m.Sites[0]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	put := func(body string) (engine.Answer, error) {
		r := putFile(a.Resource, body)
		r.Key, r.Caller = "k", "c"
		return paris.Submit(t.Context(), r)
	}
	first := must(t, 204)(put(large(1, 2*engine.ChunkSize)))
	again := must(t, 204)(put(large(1, 2*engine.ChunkSize)))
	if again.Operation != first.Operation || paris.App.Count("PUT") != 1 {
		t.Errorf("it is operation %s, then %s; put %d times", first.Operation, again.Operation, paris.App.Count("PUT"))
	}
	_, err := put(large(2, 2*engine.ChunkSize))
	wantRefusal(t, err, http.StatusUnprocessableEntity)
	fileAt(t, m, m.Sites[1], large(1, 2*engine.ChunkSize))
	forgotten(t, m, m.Sites...)
}

// What a site has refused can be tried again later: the body is kept for that.
func TestARefusedLargeBodyIsKept(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	nantes.App.Inject(Rejects)
	body := large(1, 2*engine.ChunkSize)
	put := must(t, 204)(paris.Submit(t.Context(), putFile(a.Resource, body)))
	await(t, m, nantes, put.Operation, engine.StateRejected)
	await(t, m, paris, put.Operation, engine.StateApplied)
	until(t, m, func() string {
		if row, err := paris.Disk.Operation(t.Context(), put.Operation); err != nil || row.Sites[nantes.ID].State != engine.StateRejected {
			return "paris has not heard that nantes refuses it"
		}
		return ""
	})
	if bodies(nantes) == 0 {
		t.Fatal("nantes does not keep it")
	}
	if err := nantes.Retry(t.Context(), put.Operation); err != nil {
		t.Fatal(err)
	}
	fileAt(t, m, nantes, body)
	forgotten(t, m, m.Sites...)
}

// Large representations are folded field by field like small ones, as long as what they set fits into an operation.
func TestLargeRepresentations(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	text := strings.Repeat("t", 100<<10)
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n","text":"`+text+`"}`, m.Sites...))
	converge(t, m, m.Sites...)
	m.Cut(nantes, true)
	other := strings.Repeat("o", 100<<10)
	must(t, 200)(submit(t.Context(), paris, Image, "PUT", string(a.Resource), `{"name":"n","text":"`+other+`"}`))
	must(t, 200)(submit(t.Context(), nantes, Image, "PATCH", string(a.Resource), `{"size":1}`))
	m.Cut(nantes, false)
	for _, got := range converge(t, m, m.Sites...) {
		if want := `{"name":"n","size":1,"text":"` + other + `"}`; got != want {
			t.Errorf("the sites show %.60s…", got)
		}
	}
	forgotten(t, m, m.Sites...)
	_, err := submit(t.Context(), paris, Image, "PUT", string(a.Resource), `{"name":"`+strings.Repeat("x", engine.MaxEntry)+`"}`)
	wantRefusal(t, err, http.StatusRequestEntityTooLarge)
	forgotten(t, m, m.Sites...)
}

// A create whose body travels beside its operation carries no marker: when its answer is lost, at the site where it runs first or at
// another, a person is asked, and it is not made twice.
func TestALargeCreateIsNotMadeTwice(t *testing.T) {
	marked := *Image
	marked.Marker = "/description"
	text := strings.Repeat("t", 100<<10)
	for _, at := range []int{0, 1} {
		m := open(t, &marked, 2)
		m.Sites[at].App.Inject(DoesAndFails)
		if _, err := submit(t.Context(), m.Sites[0], &marked, "POST", "", `{"description":"d","text":"`+text+`"}`, m.Sites...); at == 0 {
			wantRefusal(t, err, http.StatusGatewayTimeout)
		} else if err != nil {
			t.Fatal(err)
		}
		conflictAt(t, m, m.Sites[at], engine.ConflictUncertain)
		m.rest(time.Minute)
		if n := m.Sites[at].App.Count("POST"); n != 1 {
			t.Errorf("it was made %d times", n)
		}
	}
}

// A site that is removed before it has fetched a body needs it no more: it leaves, and nobody keeps the body for it.
func TestARemovedSiteNeedsNoBody(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	m.Cut(toulouse, true)
	body := large(1, 2*engine.ChunkSize)
	must(t, 204)(paris.Submit(t.Context(), putFile(a.Resource, body)))
	fileAt(t, m, nantes, body)
	place(t, paris, a, engine.PlaceRequest{Remove: ids(toulouse)})
	m.Cut(toulouse, false)
	leaves(t, m, toulouse, a.Resource)
	forgotten(t, m, m.Sites...)
}

// A site that is added when everybody has dropped a body gets what it has become, where the catalog says how to read that. Otherwise
// somebody has to accept that it does not.
func TestABodyThatWasDroppedIsWantedAgain(t *testing.T) {
	for name, kind := range map[string]*engine.Kind{"content": withFile, "no content": Image} {
		t.Run(name, func(t *testing.T) {
			m := open(t, kind, 3)
			paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
			a := must(t, 201)(submit(t.Context(), paris, kind, "POST", "", `{"name":"n"}`, paris, nantes))
			body := large(1, 2*engine.ChunkSize)
			put := putFile(a.Resource, body)
			put.Kind = kind
			must(t, 204)(paris.Submit(t.Context(), put))
			fileAt(t, m, nantes, body)
			forgotten(t, m, paris, nantes)
			if kind == Image {
				_, err := paris.Place(t.Context(), document(t, paris, a.Resource), engine.PlaceRequest{Add: ids(toulouse)})
				wantRefusal(t, err, http.StatusConflict)
				body = ""
			}
			place(t, paris, a, engine.PlaceRequest{Add: ids(toulouse), Forced: kind == Image})
			converge(t, m, m.Sites...)
			if got := toulouse.App.File(); got != body {
				t.Errorf("toulouse has a file of %d bytes, want %d", len(got), len(body))
			}
			forgotten(t, m, m.Sites...)
		})
	}
}

// An object whose create is too long to be looked into is made anew by the same bytes. When nobody has these any more, a person is
// told, and decides.
func TestAnObjectIsNotMadeAnewWithoutItsBody(t *testing.T) {
	kind := *Image
	kind.UpdateWins = true
	m := open(t, &kind, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	create, body := request(&kind, "POST", "", "", m.Sites...), `{"text":"`+strings.Repeat("t", engine.MaxLooked)+`"}`
	create.Header = map[string]string{"Content-Type": "application/json"}
	create.Large = world.Body([]byte(body))
	a := must(t, 201)(paris.Submit(t.Context(), create))
	converge(t, m, m.Sites...)
	forgotten(t, m, m.Sites...)
	m.Cut(nantes, true)
	must(t, 204)(submit(t.Context(), nantes, &kind, "DELETE", string(a.Resource), ""))
	must(t, 200)(submit(t.Context(), paris, &kind, "PATCH", string(a.Resource), `{"v":1}`))
	m.Cut(nantes, false)
	for _, s := range m.Sites {
		until(t, m, func() string {
			row, err := s.Disk.ResourceByID(t.Context(), kind.Service, kind.Name, a.Resource)
			if err != nil || row.State != engine.StateConflict || !strings.Contains(row.Reason, "no site has its body any more") {
				return fmt.Sprintf("%s says %s, %s (%v)", s.Name, row.State, row.Reason, err)
			}
			return ""
		})
	}
	if err := nantes.Drop(t.Context(), a.Operation); err != nil {
		t.Fatal(err)
	}
	await(t, m, nantes, a.Operation, engine.StateRejected)
	if got := shown(nantes); len(got) != 0 {
		t.Errorf("nantes shows %.80q", got)
	}
}
