package mesh

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

// TestInvariantNothingFromOutsideIsTrusted has a member sign operations that no honest agent makes. The other site does
// nothing for them, goes on with its other resources and its own requests, and does so again when it starts with them on its disk.
func TestInvariantNothingFromOutsideIsTrusted(t *testing.T) {
	deep := engine.Pointer(strings.Repeat("/a", 20_000))
	whole := &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/size": json.RawMessage("9")}}
	for _, o := range []engine.Operation{
		{ID: "path", Type: engine.TypeDelete, Method: "DELETE", Path: "/images/a1"},
		{ID: "collection", Type: engine.TypeDelete, Method: "DELETE", Path: "/images"},
		{ID: "below", Type: engine.TypeAction, Method: "POST", Path: "/images/{id}{id}/start"},
		{ID: "headers", Type: engine.TypeDelete, Method: "DELETE", Path: "/images/{id}", Header: map[string]string{"Authorization": "x"}},
		{ID: "line-break", Type: engine.TypeAbsolute, Method: "PUT", Path: "/images/{id}/file", Header: map[string]string{"Content-Encoding": "a\r\nX-Evil: b"}},
		{ID: "another-type", Type: engine.TypeMerge, Method: "DELETE", Path: "/images/{id}", Edit: whole},
		{ID: "gap", Type: engine.TypeDelete, Method: "DELETE", Path: "/images/{id}", Number: 7},
		{ID: "end-of-time", Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Time: math.MaxInt64, Edit: whole},
		{ID: "no-time", Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Time: -1, Edit: whole},
		{ID: "deep", Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{deep: json.RawMessage("1")}}},
		{ID: "no-json", Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/size": json.RawMessage("{")}}},
		{ID: "unseen", Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Edit: whole, Seen: engine.Vector{"nobody": 3}},
		{ID: "placement", Type: engine.TypePlace, Place: &engine.PlacementChange{Remove: []engine.SiteID{"x", "x"}}},
		{ID: "not an identifier", Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}", Edit: whole},
	} {
		t.Run(string(o.ID), func(t *testing.T) { hostile(t, o) })
	}
}

// TestInvariantRepairOfNothingIsRefused has a member sign repairs that do not say what is to be shown. The other site does nothing for
// them, goes on with what else it has, and does so again when it starts with them on its disk.
func TestInvariantRepairOfNothingIsRefused(t *testing.T) {
	for _, o := range []engine.Operation{
		{Type: engine.TypeReplace, Method: "PUT", Path: "/images/{id}"},
		{Type: engine.TypeMerge, Method: "PATCH", Path: "/images/{id}"},
		{Type: engine.TypeCreate, Method: "POST", Path: "/images"},
		{Type: engine.TypeAbsolute, Method: "PUT", Path: "/images/{id}/file"},
	} {
		t.Run(string(o.Type), func(t *testing.T) {
			o.ID, o.Keep = "bad", true
			hostile(t, o)
		})
	}
}

// hostile has a member sign an operation of a resource, which the other site must not carry out.
func hostile(t *testing.T, o engine.Operation) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	other := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"other"}`, m.Sites...))
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"a"}`, m.Sites...))
	converge(t, m, m.Sites...)
	if o.Number == 0 {
		o.Number = 1
	}
	if o.Time == 0 {
		o.Time = m.Now.UnixMicro() + 1
	}
	p := newPen(t, nantes, paris, document(t, paris, a.Resource))
	if o.Seen == nil {
		o.Seen = engine.Vector{p.other: 1}
	}
	l := p.writes(engine.MapOperations, &o)
	m.Cut(nantes, true) // the site itself is an honest one here, and would find that it has signed what it does not know
	for round := range 2 {
		_ = paris.Proc.Receive(nantes.ID, l) // it is refused, or taken note of
		must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"round":1}`))
		must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(other.Resource), `{"round":1}`))
		m.rest(time.Minute)
		if got := shown(paris); !slices.Equal(got, []string{`{"name":"a","round":1}`, `{"name":"other","round":1}`}) {
			t.Errorf("in round %d paris shows %v", round, got)
		}
		if n := paris.App.Count("DELETE"); n != 0 || len(paris.App.actions) != 0 {
			t.Errorf("paris deleted %d times, and ran %v", n, paris.App.actions)
		}
		if err := paris.Restart(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckpointsThatNoAgentMakesAreRefused has a member send a site, which was added to a resource, a checkpoint that is none. It takes
// nothing of it in, and gets what there is from another one.
func TestCheckpointsThatNoAgentMakesAreRefused(t *testing.T) {
	for name, bytes := range map[string][]byte{"nothing": {}, "null": {0xf6}, "an empty one": {0xa0}, "no end": {0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"null among its operations": engine.Encode(map[int]any{1: []any{nil}, 2: []any{nil}, 3: []any{nil}, 4: []any{nil}})} {
		t.Run(name, func(t *testing.T) {
			m := open(t, Image, 3)
			paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
			m.Cut(toulouse, true)
			a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"a"}`, m.Sites...))
			p := newPen(t, nantes, paris, document(t, paris, a.Resource))
			_ = toulouse.Proc.Receive(nantes.ID, &engine.Letter{Parcels: []engine.Parcel{{About: p.raw, Epoch: 3, Checkpoint: bytes}}})
			m.Cut(toulouse, false)
			if got := converge(t, m, m.Sites...); !slices.Equal(got, []string{`{"name":"a"}`}) {
				t.Errorf("the sites show %v", got)
			}
		})
	}
}

// TestACheckpointOfSomebodyWithoutAPartIsNotHeard has a member offer a checkpoint of a later epoch of a resource in which it has no part. The
// others go on with what they have: they neither take it in nor join anew.
func TestACheckpointOfSomebodyWithoutAPartIsNotHeard(t *testing.T) {
	m := open(t, Image, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	a := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"a"}`, paris, nantes))
	converge(t, m, paris, nantes)
	p := newPen(t, nantes, paris, document(t, paris, a.Resource))
	m.Cut(nantes, true) // there would be nobody to take anything from again
	_ = paris.Proc.Receive(toulouse.ID, &engine.Letter{Parcels: []engine.Parcel{{About: p.raw, Epoch: 3, Checkpoint: []byte{0xa0}}}})
	must(t, 200)(submit(t.Context(), paris, Image, "PATCH", string(a.Resource), `{"size":1}`))
	m.Cut(nantes, false)
	if got := converge(t, m, paris, nantes); !slices.Equal(got, []string{`{"name":"a","size":1}`}) {
		t.Errorf("the sites show %v", got)
	}
}

// TestARivalDatedZeroDeletesNothing has a member publish a resource under the name of one that lives elsewhere, and say that it was created
// before all others. The object stays, goes on taking what its clients write, and a person is asked.
func TestARivalDatedZeroDeletesNothing(t *testing.T) {
	m := open(t, natural, 3)
	paris, nantes, toulouse := m.Sites[0], m.Sites[1], m.Sites[2]
	must(t, 201)(submit(t.Context(), paris, natural, "PUT", "x", `{"owner":"paris"}`, paris, nantes))
	converge(t, m, paris, nantes)
	sites := []engine.SiteID{paris.ID, toulouse.ID}
	slices.Sort(sites)
	about := engine.About{Service: natural.Service, Kind: natural.Name, Collaboration: engine.Replication, Key: "x", Placement: sites}
	raw, id, err := toulouse.Documents().Identify(about)
	if err != nil {
		t.Fatal(err)
	}
	p := &pen{t: t, who: toulouse, id: id, line: engine.LineOf(toulouse.ID, "pen"), about: about, raw: raw, tip: toulouse.Documents().First(about, id, 0)}
	l := p.writes(engine.MapOperations, &engine.Operation{ID: "rival", Type: engine.TypeCreate, Method: "PUT", Path: "/images/{id}", Number: 1,
		Body: []byte(`{"owner":"toulouse"}`), Header: map[string]string{"Content-Type": "application/json"},
		Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{"/owner": json.RawMessage(`"toulouse"`)}}})
	if err := paris.Proc.Receive(toulouse.ID, l); err != nil {
		t.Fatal(err)
	}
	m.rest(time.Minute)
	must(t, 200)(submit(t.Context(), paris, natural, "PATCH", "x", `{"size":1}`))
	m.rest(time.Minute)
	if got := shown(paris); !slices.Equal(got, []string{`{"owner":"paris","size":1}`}) || paris.App.Count("DELETE") != 0 {
		t.Errorf("paris shows %v, and has deleted %d times", got, paris.App.Count("DELETE"))
	}
	list, err := paris.Disk.ConflictsOf(t.Context(), id)
	if err != nil || len(list) != 1 || list[0].Kind != engine.ConflictRival {
		t.Errorf("a person is asked about %v (%v)", list, err)
	}
}

// TestRetryAfterIsKeptTo has the application ask for patience.
func TestRetryAfterIsKeptTo(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	nantes.App.Inject(Busy, Busy, Busy)
	must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	tried := func(n int) time.Time {
		until(t, m, func() string {
			if nantes.App.Tried() < n {
				return "it is not tried"
			}
			return ""
		})
		return m.Now
	}
	first, second := tried(1), tried(2)
	if took := second.Sub(first); took < time.Second-10*time.Millisecond {
		t.Errorf("asked again after %v", took)
	}
}

// TestAClientIsToldToWait: a client's own request to which the application says that it is to come later is answered with just that, and nothing has
// happened anywhere. It is said to the client: the agent asks with credentials of its own, and waits once it is told so itself.
func TestAClientIsToldToWait(t *testing.T) {
	m := open(t, Image, 2)
	paris, nantes := m.Sites[0], m.Sites[1]
	made := must(t, 201)(submit(t.Context(), paris, Image, "POST", "", `{"name":"n"}`, m.Sites...))
	converge(t, m, m.Sites...)
	tried := nantes.App.Tried()
	for _, r := range []engine.Request{
		request(Image, "POST", "", `{"name":"m"}`, m.Sites...), request(Image, "PATCH", string(made.Resource), `{"name":"m"}`, m.Sites...),
		request(Image, "POST", "", `{"name":"m"}`, paris),
	} {
		paris.App.Inject(Busy)
		a := must(t, 429)(paris.Submit(t.Context(), r))
		if a.Header.Get("Retry-After") != "1" || a.Operation != "" {
			t.Errorf("%s is answered %v, operation %q", r.Method, a.Header, a.Operation)
		}
	}
	converge(t, m, m.Sites...)
	if n := nantes.App.Tried(); n != tried {
		t.Errorf("nantes was asked %d times for what has not happened", n-tried)
	}
}
