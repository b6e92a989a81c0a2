package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// archive is a desk that compacts its history, beside the same history uncompacted.
type archive struct {
	*desk
	whole *History
	// mixed says that something later was concurrent with what a checkpoint stands for.
	mixed bool
	// known is what each site has published, as far as it was heard here: what was settled there.
	known map[SiteID]map[Line]uint64
}

func newArchive(site SiteID, k *Kind) *archive {
	return &archive{desk: deskOf(site, k), whole: HistoryOf(k), known: map[SiteID]map[Line]uint64{}}
}

// published is the vector of what is settled here.
func (a *archive) published() map[Line]uint64 {
	v := map[Line]uint64{}
	for _, o := range a.whole.Ordered() {
		if a.settled[o.ID] {
			v[o.Line()] = max(v[o.Line()], o.Seq)
		}
	}
	return v
}

// hear takes in all that another site knows, and what has become settled there: an entry of a document never comes without
// what its author had issued and seen.
func (a *archive) hear(b *archive) {
	for _, o := range b.whole.Ordered() {
		a.whole.Add(o)
		a.history.Add(o)
	}
	b.known[b.site] = b.published()
	for s, v := range b.known {
		if a.known[s] == nil {
			a.known[s] = map[Line]uint64{}
		}
		for name, n := range v {
			a.known[s][name] = max(a.known[s][name], n)
		}
	}
}

// compact does what a site does when nothing is left to do.
func (a *archive) compact(sites []SiteID) bool {
	if Next(a.history, a.standing()).Kind != StepNothing {
		return false
	}
	a.known[a.site] = a.published()
	vectors := make([]map[Line]uint64, len(sites))
	for i, s := range sites {
		vectors[i] = a.known[s]
	}
	done := a.history.Compact(meet(vectors), func(*Operation) bool { return false })
	a.mixed = a.mixed || done && len(a.history.base.Late) > 0
	return done
}

// ended reports whether something was deleted.
func (a *archive) ended() bool {
	return slices.ContainsFunc(a.whole.Ordered(), func(o *Operation) bool { return o.Type == TypeDelete })
}

// same checks that nothing tells the compacted history from the whole one.
func (a *archive) same(t failer) {
	t.Helper()
	tell := func(h *History) string {
		f := FoldOf(h, anyOperation)
		var b bytes.Buffer
		fmt.Fprintf(&b, "exists %t\n", f.Exists)
		for _, p := range sortedPointers(f.Cells) {
			c := f.Cells[p]
			if c.idle && c.Value == nil { // nothing that was added counts, and where it began is not known
				continue
			}
			if c.idle {
				c.By = ""
			}
			fmt.Fprintf(&b, "%s=%s by %s\n", p, c.Value, c.By)
		}
		for _, path := range slices.Sorted(maps.Keys(f.Absolute)) {
			fmt.Fprintf(&b, "%s: %s\n", path, f.Absolute[path].ID)
		}
		for _, s := range f.Superseded {
			if a.ended() || a.kind.takesOne() { // with one of several creates goes some of what was built on it; and what has lost its effect may have it again
				break
			}
			fmt.Fprintf(&b, "lost %s=%s by %s to %s\n", s.Path, s.Value, s.By, s.Over)
		}
		for _, gone := range []bool{false, true} {
			standing := a.standing()
			standing.Gone = gone
			step := Next(h, standing)
			fmt.Fprintf(&b, "%s", step.Kind)
			for _, o := range slices.Concat(step.Operations, step.Again) {
				fmt.Fprintf(&b, " %s", o.ID)
			}
			for _, o := range step.Voided {
				if !a.history.base.has(o) { // of those it is over
					fmt.Fprintf(&b, " voids %s", o.ID)
				}
			}
			if step.Late {
				b.WriteString(" late")
			}
			if step.Correction != nil {
				fmt.Fprintf(&b, " %s", compactStruct(step.Correction))
			}
			if step.Make != nil {
				fmt.Fprintf(&b, " %s %s", step.Make.ID, step.Make.Body)
			}
			b.WriteByte('\n')
		}
		for _, o := range a.history.Ordered() {
			if !a.history.base.has(o) && !a.mixed {
				fmt.Fprintf(&b, "%s after %v\n", o.ID, h.Parents(h.Get(o.ID)))
			}
		}
		return b.String()
	}
	if got, want := tell(a.history), tell(a.whole); got != want {
		t.Fatalf("%s has compacted to something else:\n%s\nwant:\n%s", a.site, got, want)
	}
}

// TestInvariantCheckpointsChangeNothing plays random histories, under every rule, at sites that compact theirs at random
// moments, also while somebody goes on writing.
func TestInvariantCheckpointsChangeNothing(t *testing.T) {
	t.Run("no rules", func(t *testing.T) { playCheckpoints(t, lab, requests) })
	for name, k := range kinds() {
		requests := declaredRequests
		if k.takesOne() { // over so many steps, an addition that has lost its effect leaves traces in what a later one began with
			requests = slices.DeleteFunc(slices.Clone(requests), func(r request) bool { return strings.HasSuffix(r.path, "/incr") })
		}
		t.Run(name, func(t *testing.T) { playCheckpoints(t, k, requests) })
	}
}

func playCheckpoints(t *testing.T, k *Kind, requests []request) {
	compacted, mixed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		sites := make([]SiteID, rapid.IntRange(2, 4).Draw(t, "sites"))
		archives := make([]*archive, len(sites))
		for i := range sites {
			sites[i] = SiteID(rune('a' + i))
			archives[i] = newArchive(sites[i], k)
			archives[i].watch = func() { archives[i].same(t) }
		}
		site := func(name string) *archive { return archives[rapid.IntRange(0, len(sites)-1).Draw(t, name)] }
		for n := range rapid.IntRange(10, 60).Draw(t, "steps") {
			a := site("at")
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				r := requests[rapid.IntRange(0, len(requests)-1).Draw(t, "request")]
				if r.typ == TypeDelete && rapid.IntRange(0, 3).Draw(t, "really") > 0 {
					continue
				}
				body := r.body
				if r.typ == TypeAbsolute {
					body += fmt.Sprint(n)
				}
				if o := a.issue(t, r.typ, r.path, body, rapid.Int64Range(0, 20).Draw(t, "clock")); o != nil {
					a.whole.Add(o)
				}
			case 2, 3:
				a.hear(site("from"))
				if rapid.Bool().Draw(t, "apply") {
					a.catchUp(t)
				}
			case 4:
				if a.compact(sites) {
					compacted++
					if len(a.history.base.Late) > 0 {
						mixed++
					}
				}
			}
			a.same(t)
		}
		for range 2 {
			for _, a := range archives {
				for _, b := range archives {
					a.hear(b)
				}
				a.catchUp(t)
			}
		}
		for _, a := range archives {
			for _, b := range archives {
				a.hear(b)
			}
			a.compact(sites)
			a.same(t)
			a.lawful(t)
			if left := slices.DeleteFunc(slices.Clone(a.history.Ordered()), a.history.base.has); len(left) > 0 && a.history.base != nil {
				t.Fatalf("%s keeps %d operations that every site has settled", a.site, len(left))
			}
		}
	})
	if compacted < 10 || mixed < 3 {
		t.Errorf("only %d checkpoints were made, %d of them while something concurrent was under way", compacted, mixed)
	}
}

// TestACheckpointIsBounded changes one resource fifteen hundred times at two sites. With each change a field comes and another one goes.
func TestACheckpointIsBounded(t *testing.T) {
	a, b := newArchive("a", lab), newArchive("b", lab)
	most := 0
	issue := func(x *archive, typ Type, path, body string) {
		if o := x.issue(t, typ, path, body, 0); o != nil {
			x.whole.Add(o)
		}
	}
	issue(a, TypeCreate, "/images", `{"name":"n","opaque":"x"}`)
	for i := range 1500 {
		issue([]*archive{a, b}[i%2], TypeMerge, "/images/{id}", fmt.Sprintf(`{"f%d":%d,"g%d":1,"g%d":null}`, i%20, i, i, i-30))
		if i%10 == 0 {
			a.whole, b.whole = HistoryOf(lab), HistoryOf(lab) // beside the point here
			for range 2 {
				for _, o := range slices.Clone(a.history.Ordered()) {
					b.history.Add(o)
				}
				for _, o := range slices.Clone(b.history.Ordered()) {
					a.history.Add(o)
				}
				a.catchUp(t)
				b.catchUp(t)
			}
			all := map[Line]uint64{"a.": a.history.Last("a."), "b.": a.history.Last("b.")}
			a.history.Compact(all, func(*Operation) bool { return false })
			b.history.Compact(all, func(*Operation) bool { return false })
		}
		most = max(most, len(a.history.Ordered()), len(b.history.Ordered()))
	}
	a.lawful(t)
	b.lawful(t)
	if n := len(a.shows.(map[string]any)); n < 50 || n > 70 {
		t.Errorf("%d fields are there", n)
	}
	if most > 200 {
		t.Errorf("a history has held %d operations", most)
	}
	encoded, err := json.Marshal(a.history.base)
	if err != nil {
		t.Fatal(err)
	}
	if len(encoded) > 40<<10 {
		t.Errorf("the checkpoint of a resource of some 60 fields has %d bytes", len(encoded))
	}
	if a.history.base.Count+len(a.history.base.Kept) < 1400 {
		t.Errorf("the checkpoint stands for %d operations", a.history.base.Count)
	}
}

// TestALateDeleteOfOneOfTwoCreates compacts what a delete has ended of two creates of one name while the delete itself cannot be
// decided yet: what was added to the one that it ends is not added to the other.
func TestALateDeleteOfOneOfTwoCreates(t *testing.T) {
	k := kinds()["last writer"]
	h := HistoryOf(k)
	set := func() *Change { return &Change{Set: map[Pointer]json.RawMessage{"/name": json.RawMessage(`"a"`)}} }
	add := &Change{Add: map[Pointer]Increment{"/count": {By: "13"}}}
	incr := Operation{Type: TypeAction, Name: "incr", Method: "POST", Path: "/images/{id}/incr", Origin: "c", Run: "r", Change: add}
	first, second := incr, incr
	first.ID, first.Seq, first.Time = "c-1", 2, 5
	second.ID, second.Seq, second.Time, second.Seen = "c-3", 4, 14, map[Line]uint64{"b.r": 1}
	for _, o := range []*Operation{
		{ID: "a-0", Type: TypeCreate, Origin: "a", Run: "r", Seq: 1, Time: 0, Body: []byte(`{"name":"a"}`), Change: set()},
		{ID: "c-0", Type: TypeCreate, Origin: "c", Run: "r", Seq: 1, Time: 0, Body: []byte(`{"name":"a"}`), Change: set()},
		{ID: "a-1", Type: TypeAbsolute, Path: "/images/{id}/file", Origin: "a", Run: "r", Seq: 2, Time: 1, Body: []byte("x")},
		&first,
		{ID: "c-2", Type: TypeDelete, Path: "/images/{id}", Origin: "c", Run: "r", Seq: 3, Time: 6},
		{ID: "b-0", Type: TypeCreate, Origin: "b", Run: "r", Seq: 1, Time: 13, Body: []byte(`{"name":"a"}`), Change: set()},
		&second,
	} {
		h.Add(o)
	}
	want := string(FoldOf(h, anyOperation).Cells["/count"].Value)
	if !h.Compact(h.complete(), func(*Operation) bool { return false }) {
		t.Fatal("nothing was compacted")
	}
	if got := string(FoldOf(h, anyOperation).Cells["/count"].Value); got != want || want != "13" {
		t.Errorf("the count is %s, and was %s", got, want)
	}
}

// TestWhatWasAddedUpStaysSo compacts twice: the second time a delete that may be reversed keeps all from being decided, but not what
// stands for several additions since the first time.
func TestWhatWasAddedUpStaysSo(t *testing.T) {
	h := HistoryOf(kinds()["update wins"])
	incr := func(id OperationID, origin SiteID, seq uint64, at int64, by, from string, seen map[Line]uint64) *Operation {
		return &Operation{ID: id, Type: TypeAction, Name: "incr", Method: "POST", Path: "/images/{id}/incr", Origin: origin, Run: "r", Seq: seq,
			Time: at, Seen: seen, Change: &Change{Add: map[Pointer]Increment{"/count": {By: json.Number(by), From: json.Number(from)}}}}
	}
	name := &Change{Set: map[Pointer]json.RawMessage{"/name": json.RawMessage(`"a"`)}}
	for _, o := range []*Operation{
		{ID: "a-0", Type: TypeCreate, Origin: "a", Run: "r", Seq: 1, Time: 0, Body: []byte(`{"name":"a"}`), Change: name},
		incr("a-1", "a", 2, 1, "22", "", nil),
		incr("b-0", "b", 1, 2, "56", "22", map[Line]uint64{"a.r": 2}),
		incr("a-2", "a", 3, 3, "51", "22", nil),
		{ID: "a-3", Type: TypeMerge, Path: "/images/{id}", Origin: "a", Run: "r", Seq: 4, Time: 5, Change: name},
	} {
		h.Add(o)
	}
	count := func() string { return string(FoldOf(h, anyOperation).Cells["/count"].Value) }
	for _, stable := range []map[Line]uint64{{"a.r": 3, "b.r": 1}, {"a.r": 4, "b.r": 1}} {
		if !h.Compact(stable, func(*Operation) bool { return false }) {
			t.Fatalf("nothing was compacted up to %v", stable)
		}
		if got := count(); got != "129" {
			t.Errorf("compacted up to %v, the count is %s", stable, got)
		}
		h.Add(&Operation{ID: "b-1", Type: TypeDelete, Path: "/images/{id}", Origin: "b", Run: "r", Seq: 2, Time: 6, Seen: map[Line]uint64{"a.r": 3}})
		if got := count(); got != "129" {
			t.Errorf("after a delete that a concurrent change reverses, the count is %s", got)
		}
	}
}

// TestARefusedDeleteIsKeptWithAnother has one site refuse a delete, and another delete end the object once more: where the first has been
// passed over, the second says that the object does not live.
func TestARefusedDeleteIsKeptWithAnother(t *testing.T) {
	h := HistoryOf(kinds()["default"])
	made := &Operation{ID: "a-1", Type: TypeCreate, Path: "/images", Body: []byte(`{}`), Origin: "a", Seq: 1, Time: 1, Change: &Change{}}
	refused := &Operation{ID: "b-1", Type: TypeDelete, Path: "/images/{id}", Origin: "b", Seq: 1, Time: 2, Seen: map[Line]uint64{made.Line(): 1}}
	other := &Operation{ID: "a-2", Type: TypeDelete, Path: refused.Path, Origin: "a", Seq: 2, Time: 3, Seen: map[Line]uint64{refused.Line(): 1}}
	for _, o := range []*Operation{made, refused, other} {
		h.Add(o)
	}
	if !h.Compact(h.complete(), func(o *Operation) bool { return o == refused }) {
		t.Fatal("nothing was compacted")
	}
	if h.Get(refused.ID) == nil {
		t.Error("what was refused is forgotten")
	}
	if h.exists(func(o *Operation) bool { return o.ID != refused.ID }) {
		t.Error("the object lives where the refused delete was passed over")
	}
}

// TestWhatIsLeftOfAnActionIsNotSent has an increment to be applied once more of which a checkpoint keeps what it adds, without its body: the
// number is set, and the increment is not sent.
func TestWhatIsLeftOfAnActionIsNotSent(t *testing.T) {
	h := HistoryOf(kinds()["default"])
	made := &Operation{ID: "a-0", Type: TypeCreate, Path: "/images", Origin: "a", Run: "r", Seq: 1, Time: 1, Body: []byte(`{"name":"a"}`),
		Change: &Change{Set: map[Pointer]json.RawMessage{"/name": json.RawMessage(`"a"`)}}}
	incr := &Operation{ID: "a-1", Type: TypeAction, Name: "incr", Method: "POST", Path: "/images/{id}/incr", Origin: "a", Run: "r", Seq: 2, Time: 2,
		Body: []byte(`{"by":4}`), Change: &Change{Add: map[Pointer]Increment{"/count": {By: "4"}}}}
	h.Add(made)
	h.Add(incr)
	if !h.Compact(h.complete(), func(*Operation) bool { return false }) {
		t.Fatal("nothing was compacted")
	}
	none := func(*Operation) bool { return false }
	step := Next(h, Standing{Settled: func(o *Operation) bool { return o.ID != incr.ID }, Void: none, Blocked: none})
	if step.Kind != StepCorrect || string(step.Correction.Set["/count"]) != "4" {
		t.Errorf("the next step is %+v", step)
	}
}
