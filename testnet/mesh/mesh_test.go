package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// submit sends a request as a client of site s would.
func submit(ctx context.Context, s *Site, kind *engine.Kind, method, id, body string, placement ...*Site) (engine.Answer, error) {
	return s.Submit(ctx, request(kind, method, id, body, placement...))
}

func request(kind *engine.Kind, method, id, body string, placement ...*Site) engine.Request {
	r := engine.Request{Kind: kind, Method: method, Target: id, Path: "/images/{id}", Body: []byte(body),
		Header: map[string]string{"Content-Type": "application/json"}}
	switch method {
	case "POST":
		r.Type, r.Path = engine.TypeCreate, "/images"
	case "START":
		r.Type, r.Method, r.Path = engine.TypeAction, "POST", "/images/{id}/start"
	case "PUT":
		r.Type = engine.TypeReplace
	case "PATCH":
		r.Type = engine.TypeMerge
	case "DELETE":
		r.Type = engine.TypeDelete
	}
	for _, p := range placement {
		r.Placement = append(r.Placement, p.ID)
	}
	return r
}

func must(t *testing.T, want int) func(engine.Answer, error) engine.Answer {
	return func(a engine.Answer, err error) engine.Answer {
		t.Helper()
		if err != nil {
			t.Fatalf("want %d: %v", want, err)
		}
		if a.Status != want {
			t.Fatalf("answered %d %s, want %d", a.Status, a.Body, want)
		}
		return a
	}
}

// converge reconciles until every site has settled everything and all show the same, and returns what they show.
func converge(t *testing.T, m *Mesh, sites ...*Site) []string {
	t.Helper()
	var first []string
	until(t, m, func() string {
		first = shown(sites[0])
		same := !slices.ContainsFunc(sites, func(s *Site) bool { return !slices.Equal(shown(s), first) })
		settled := true
		var said strings.Builder
		for _, s := range sites {
			rows, _, err := s.Disk.Resources(t.Context(), engine.ResourceFilter{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				settled = settled && r.State == engine.StateConverged
				fmt.Fprintf(&said, "\n%s: %s is %s: %s", s.Name, r.ID, r.State, r.Reason)
			}
			fmt.Fprintf(&said, "\n%s shows %v", s.Name, shown(s))
		}
		if settled && same {
			return ""
		}
		return "the sites do not converge" + said.String()
	})
	return first
}

func shown(s *Site) []string {
	o := s.App.Objects()
	slices.Sort(o)
	return o
}

func TestAReplicatedResourceThroughACut(t *testing.T) {
	ctx := t.Context()
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(ctx, paris, Image, "POST", "", `{"name":"debian","size":1,"status":"new"}`, paris, nantes))
	var body map[string]any
	if err := json.Unmarshal(a.Body, &body); err != nil || body["id"] != string(a.Resource) {
		t.Fatalf("the answer %s does not show the meta-identifier %s", a.Body, a.Resource)
	}
	old := must(t, 201)(submit(ctx, nantes, Image, "POST", "", `{"name":"old"}`, paris, nantes))
	if got := converge(t, m, paris, nantes); len(got) != 2 {
		t.Fatalf("the sites show %v", got)
	}

	m.Cut(nantes, true)
	id := string(a.Resource)
	must(t, 200)(submit(ctx, paris, Image, "PUT", id, `{"name":"debian 12","size":1,"status":"new"}`))
	must(t, 200)(submit(ctx, nantes, Image, "PATCH", id, `{"status":"active"}`))
	must(t, 201)(submit(ctx, paris, Image, "POST", "", `{"name":"made at paris"}`, paris, nantes))
	must(t, 201)(submit(ctx, nantes, Image, "POST", "", `{"name":"made at nantes"}`, paris, nantes))
	must(t, 204)(submit(ctx, paris, Image, "DELETE", string(old.Resource), ""))
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	m.Cut(nantes, false)
	want := []string{
		`{"name":"debian 12","size":1,"status":"active"}`, `{"name":"made at nantes"}`, `{"name":"made at paris"}`,
	}
	if got := converge(t, m, paris, nantes); !slices.Equal(got, want) {
		t.Errorf("the sites show %v, want %v", got, want)
	}
	for _, s := range []*Site{paris, nantes} {
		if n := s.App.Count("POST"); n != 4 {
			t.Errorf("%s was asked to create %d times, want 4", s.Name, n)
		}
	}
	if n := len(shown(toulouse)); n != 0 {
		t.Errorf("toulouse, which is not involved, has %d images", n)
	}
	if n := toulouse.Disk.Stored()["records"]; n != 0 {
		t.Errorf("toulouse, which is not involved, has %d documents", n)
	}
}

// lacks returns what one site would give another of a document, beyond what that has.
func lacks(t *testing.T, from, to *Site, id engine.DocumentID) *engine.Letter {
	t.Helper()
	have, err := to.Proc.Site.Have(t.Context(), from.ID, []engine.DocumentID{id})
	if err != nil {
		t.Fatal(err)
	}
	l, _, err := from.Proc.Site.Missing(t.Context(), to.ID, have, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// empty reports whether a letter says nothing of any document.
func empty(l *engine.Letter) bool { return len(l.Parcels)+len(l.Batches)+len(l.Statuses) == 0 }

// TestInvariantOnlyTheSitesInvolved offers a document to a site outside its placement, which must not take it, and has one outside
// hand it on.
func TestInvariantOnlyTheSitesInvolved(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, paris, nantes))
	id := documentOf(t, paris)
	if l := lacks(t, paris, toulouse, id); !empty(l) {
		t.Errorf("toulouse is given %d parcels, %d statuses", len(l.Parcels), len(l.Batches)+len(l.Statuses))
	}
	l := lacks(t, paris, nantes, id)
	if len(l.Parcels) == 0 || len(l.Parcels[0].Changes) == 0 {
		t.Fatalf("nantes is given %+v", l)
	}
	if err := toulouse.Proc.Receive(paris.ID, l); err == nil {
		t.Error("toulouse takes the document")
	}
	if n := toulouse.Disk.Stored(); n["records"]+n["changes"] != 0 {
		t.Errorf("toulouse has stored %v", n)
	}
	if err := nantes.Proc.Receive(toulouse.ID, l); err == nil {
		t.Error("nantes takes the document from toulouse")
	}
	if n := nantes.Disk.Stored(); n["records"]+n["changes"] != 0 {
		t.Errorf("nantes has stored %v", n)
	}
	m.Reconcile()
	if n := toulouse.Disk.Stored(); n["records"]+n["changes"] != 0 {
		t.Errorf("toulouse has stored %v", n)
	}
}

func TestTheOriginValidates(t *testing.T) {
	m := open(t, Image, 2)
	a := must(t, 400)(submit(t.Context(), m.Sites[0], Image, "POST", "", `not JSON`, m.Sites...))
	if a.Operation != "" {
		t.Error("a refused request is an operation")
	}
	if ops, _, err := m.Sites[0].Disk.Operations(t.Context(), engine.OperationFilter{}); err != nil || len(ops) != 0 {
		t.Errorf("operations %v, %v", ops, err)
	}
}

// TestInvariantNoEffectTwice lets the application lose its answers at each place where a request crosses to it.
func TestInvariantNoEffectTwice(t *testing.T) {
	honours := *Image
	honours.HonoursKey = true
	for _, kind := range []*engine.Kind{Image, &honours} {
		for _, fault := range []Fault{Refuses, Fails, DoesAndFails} {
			t.Run(fmt.Sprintf("key honoured %v, fault %d", kind.HonoursKey, fault), func(t *testing.T) {
				m := open(t, kind, 2)
				paris, nantes := m.Sites[0], m.Sites[1]
				nantes.App.Inject(fault)
				a := must(t, 201)(submit(t.Context(), paris, kind, "POST", "", `{"name":"n"}`, paris, nantes))
				if fault != Refuses && !kind.HonoursKey {
					st := await(t, m, nantes, a.Operation, engine.StateUncertain)
					if st.Error == "" {
						t.Error("it is not said why the operation is uncertain")
					}
					decide := nantes.Retry
					if fault == DoesAndFails { // a person looks and sees that it is there, under an identifier that nobody knows
						var refusal *engine.Refusal
						if err := nantes.Done(t.Context(), a.Operation); !errors.As(err, &refusal) {
							t.Errorf("done without an identifier: %v", err)
						}
						decide = nantes.Drop
					}
					if err := decide(t.Context(), a.Operation); err != nil {
						t.Fatal(err)
					}
				}
				made := fault == Refuses || fault == Fails || kind.HonoursKey
				if made {
					await(t, m, nantes, a.Operation, engine.StateApplied)
				}
				if n := nantes.App.Count("POST"); n != 1 {
					t.Fatalf("nantes created %d times", n)
				}
				if made {
					converge(t, m, paris, nantes)
				}
			})
		}
	}
}

func await(t *testing.T, m *Mesh, s *Site, id engine.OperationID, want engine.State, at ...*Site) engine.OperationStatus {
	t.Helper()
	of := s
	if len(at) > 0 { // as s tells of another site
		of = at[0]
	}
	var status engine.OperationStatus
	until(t, m, func() string {
		row, err := s.Disk.Operation(t.Context(), id)
		if status = row.Sites[of.ID]; err == nil && status.State == want {
			return ""
		}
		return fmt.Sprintf("operation %s at %s: %+v, %v; want %s", id, of.Name, row.Sites, err, want)
	})
	return status
}

func TestAnActionRunsOnceAtEachSite(t *testing.T) {
	m := open(t, Image, 3)
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	must(t, 200)(submit(t.Context(), m.Sites[1], Image, "START", string(a.Resource), ""))
	must(t, 200)(submit(t.Context(), m.Sites[2], Image, "START", string(a.Resource), ""))
	converge(t, m, m.Sites...)
	for _, s := range m.Sites {
		if len(s.App.actions) != 2 {
			t.Errorf("%s ran %v", s.Name, s.App.actions)
		}
		for key, n := range s.App.actions {
			if n != 1 {
				t.Errorf("%s ran %s %d times", s.Name, key, n)
			}
		}
	}
}

// TestARequestWithoutACertainAnswerIsSettled loses the origin's answer: the caller is told, and it happens once.
func TestARequestWithoutACertainAnswerIsSettled(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	for _, fault := range []Fault{Fails, DoesAndFails} {
		paris.App.Inject(fault)
		_, err := submit(t.Context(), paris, Image, "PATCH", string(a.Resource), fmt.Sprintf(`{"tried":%d}`, fault))
		var refusal *engine.Refusal
		if !errors.As(err, &refusal) || refusal.Status != http.StatusGatewayTimeout || refusal.Operation == "" {
			t.Fatalf("a lost answer is told as %v", err)
		}
		await(t, m, nantes, refusal.Operation, engine.StateApplied)
		want := []string{fmt.Sprintf(`{"name":"n","tried":%d}`, fault)}
		if got := converge(t, m, m.Sites...); !slices.Equal(got, want) {
			t.Errorf("the sites show %v, want %v", got, want)
		}
	}
	// A create that nobody can look for waits for a person, also over a restart.
	paris.App.Inject(DoesAndFails)
	_, err := submit(t.Context(), paris, Image, "POST", "", `{"name":"lost"}`, m.Sites...)
	var refusal *engine.Refusal
	if !errors.As(err, &refusal) {
		t.Fatal(err)
	}
	await(t, m, paris, refusal.Operation, engine.StateUncertain)
	if err := paris.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := paris.Drop(t.Context(), refusal.Operation); err != nil {
		t.Fatal(err)
	}
	await(t, m, paris, refusal.Operation, engine.StateRejected)
	if n := paris.App.Count("POST"); n != 2 {
		t.Errorf("paris created %d times, want 2", n)
	}
}

// TestInvariantAcknowledgedMeansDurable keeps a request that no involved site could be reached for, over a restart.
func TestInvariantAcknowledgedMeansDurable(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	m.Cut(toulouse, true)
	a := must(t, 202)(submit(t.Context(), toulouse, Image, "POST", "", `{"name":"kept"}`, paris, nantes))
	if a.Operation == "" || a.Header.Get("Location") != "/api/v1/operations/"+string(a.Operation) {
		t.Errorf("the answer does not tell the operation's address: %+v", a)
	}
	if err := toulouse.Restart(); err != nil {
		t.Fatal(err)
	}
	if row, err := toulouse.Disk.Operation(t.Context(), a.Operation); err != nil || row.State != engine.StatePending {
		t.Fatalf("the kept operation is %+v, %v", row, err)
	}
	m.Cut(toulouse, false)
	want := []string{`{"name":"kept"}`}
	until(t, m, func() string {
		if got := shown(nantes); !slices.Equal(got, want) {
			return fmt.Sprintf("nantes shows %v", got)
		}
		return ""
	})
	if got := converge(t, m, paris, nantes); !slices.Equal(got, want) {
		t.Errorf("the sites show %v, want %v", got, want)
	}
	until(t, m, func() string { // it hears of it after nantes shows it
		row, err := toulouse.Disk.Operation(t.Context(), a.Operation)
		if err == nil && row.State == engine.StateApplied && row.Resource != "" {
			return ""
		}
		return fmt.Sprintf("toulouse tells of its operation: %+v, %v", row, err)
	})
}

func TestARepeatedIdempotencyKeyGetsTheFirstAnswer(t *testing.T) {
	m := open(t, Image, 2)
	r := engine.Request{Kind: Image, Type: engine.TypeCreate, Method: "POST", Path: "/images", Body: []byte(`{"name":"n"}`),
		Placement: []engine.SiteID{m.Sites[0].ID, m.Sites[1].ID}, Key: "k", Caller: "c"}
	first := must(t, 201)(m.Sites[0].Submit(t.Context(), r))
	if err := m.Sites[0].Restart(); err != nil {
		t.Fatal(err)
	}
	again := must(t, 201)(m.Sites[0].Submit(t.Context(), r))
	if again.Operation != first.Operation || string(again.Body) != string(first.Body) {
		t.Errorf("the second answer is %+v, the first was %+v", again, first)
	}
	if n := m.Sites[0].App.Count("POST"); n != 1 {
		t.Errorf("created %d times", n)
	}
	r.Body = []byte(`{"name":"other"}`)
	var refusal *engine.Refusal
	if _, err := m.Sites[0].Submit(t.Context(), r); !errors.As(err, &refusal) || refusal.Status != http.StatusUnprocessableEntity {
		t.Errorf("another body under the same key: %v", err)
	}
}

func TestADeletedResourceIsGoneAndItsOperationsStay(t *testing.T) {
	m := open(t, Image, 2)
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	m.Cut(m.Sites[1], true)
	must(t, 204)(submit(t.Context(), m.Sites[0], Image, "DELETE", string(a.Resource), ""))
	late := must(t, 200)(submit(t.Context(), m.Sites[1], Image, "PATCH", string(a.Resource), `{"name":"late"}`))
	m.Cut(m.Sites[1], false)
	if got := converge(t, m, m.Sites...); len(got) != 0 {
		t.Errorf("the sites show %v", got)
	}
	await(t, m, m.Sites[0], late.Operation, engine.StateSuperseded)
	if _, err := m.Sites[0].Lookup(t.Context(), Image, string(a.Resource)); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("a deleted resource is found: %v", err)
	}
}

// TestARequestIsNotTakenForALeftover has a site look at what there is to do while a request is under way, whose intent is open: it is
// none that an earlier process has left behind, and is not settled beside the request itself.
func TestARequestIsNotTakenForALeftover(t *testing.T) {
	honours := *Image
	honours.HonoursKey = true
	m := open(t, &honours, 2)
	paris := m.Sites[0]
	arrived, release := paris.App.Hold()
	client := paris.ask(t.Context(), request(&honours, "POST", "", `{"name":"n"}`, m.Sites...))
	for range 100 {
		m.Reconcile()
		m.Pass(10 * time.Millisecond)
	}
	if n := arrived(); n != 1 {
		t.Errorf("the request is sent %d times", n)
	}
	release()
	must(t, 201)(finish(m, client))
	if got := converge(t, m, m.Sites...); len(got) != 1 {
		t.Errorf("the sites show %v", got)
	}
}

// TestAResourceIsCalledByItsName reads at every site what people call a resource, also after that has changed.
func TestAResourceIsCalledByItsName(t *testing.T) {
	m := open(t, Image, 2)
	a := must(t, 201)(submit(t.Context(), m.Sites[0], Image, "POST", "", `{"name":"debian"}`, m.Sites...))
	must(t, 200)(submit(t.Context(), m.Sites[0], Image, "PATCH", string(a.Resource), `{"name":"`+strings.Repeat("é", 200)+`"}`))
	converge(t, m, m.Sites...)
	for _, s := range m.Sites {
		row, err := s.Disk.ResourceByID(t.Context(), Image.Service, Image.Name, a.Resource)
		if want := strings.Repeat("é", 99) + "…"; err != nil || row.Label != want {
			t.Errorf("at %s it is called %q, %v", s.Name, row.Label, err)
		}
	}
}
