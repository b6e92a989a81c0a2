package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
	"github.com/skerry/skerry/engine/tree"
)

// archive is a desk that compacts its history, beside the same history uncompacted.
type archive struct {
	*desk
	whole *merge.History
	// mixed says that something later was concurrent with what a checkpoint stands for.
	mixed bool
	// known is what each site has published, as far as it was heard here: what was settled there.
	known map[engine.SiteID]Vector
}

func newArchive(site engine.SiteID, k *Kind) *archive {
	return &archive{desk: deskOf(site, k), whole: historyOf(k, site), known: map[engine.SiteID]Vector{}}
}

// published is the vector of what is settled here.
func (a *archive) published() Vector {
	v := Vector{}
	for _, o := range a.whole.Ordered() {
		if a.settled[o.ID] {
			v[o.Line] = max(v[o.Line], o.Number)
		}
	}
	return v
}

// hear takes in all that another site knows, and what has become settled there: a status never comes without what its author
// had issued and seen.
func (a *archive) hear(b *archive) {
	for _, o := range b.whole.Ordered() {
		a.whole.Add(o)
		a.history.Add(o)
	}
	b.known[b.site] = b.published()
	for s, v := range b.known {
		if a.known[s] == nil {
			a.known[s] = Vector{}
		}
		a.known[s].Join(v)
	}
}

// compact does what a site does when nothing is left to do. What comes out of the encoding stands in the place of what went in.
func (a *archive) compact(t failer, sites []engine.SiteID) bool {
	if Next(a.history, a.standing()).Kind != StepNothing {
		return false
	}
	a.known[a.site] = a.published()
	vectors := make([]Vector, len(sites))
	for i, s := range sites {
		vectors[i] = a.known[s]
	}
	if !a.history.Compact(engine.Meet(vectors...), none, Unfinished(a.history, a.standing())) {
		return false
	}
	c := a.history.Base()
	a.mixed = a.mixed || len(c.Late) > 0
	b := engine.Encode(c)
	var again merge.Checkpoint
	if err := engine.Decode(b, &again); err != nil {
		t.Fatal(err)
	}
	if err := again.Validate(); err != nil {
		t.Fatalf("%v: %s", err, tell(c))
	}
	if !bytes.Equal(engine.Encode(&again), b) {
		t.Fatal("a checkpoint is encoded as something else once it was decoded")
	}
	a.history.Stand(&again)
	return true
}

func tell(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// ended reports whether something was deleted.
func (a *archive) ended() bool {
	return slices.ContainsFunc(a.whole.Ordered(), func(o *Operation) bool { return o.Type == engine.TypeDelete })
}

// same checks that nothing tells the compacted history from the whole one.
func (a *archive) same(t failer) {
	t.Helper()
	if got, want := a.told(a.history), a.told(a.whole); got != want {
		t.Fatalf("%s has compacted to something else:\n%s\nwant:\n%s", a.site, got, want)
	}
}

// told is all that follows from a history, in words.
func (a *archive) told(h *merge.History) string {
	f := h.Whole(merge.Any)
	var b bytes.Buffer
	fmt.Fprintf(&b, "exists %t\n", f.Exists)
	for _, p := range tree.Sorted(f.Cells) {
		c := f.Cells[p]
		switch {
		case c.Idle && c.Value == nil: // nothing that was added counts, and where it began is not known
		case c.Idle:
			fmt.Fprintf(&b, "%s=%s\n", p, c.Value)
		default:
			fmt.Fprintf(&b, "%s=%s by %s\n", p, c.Value, c.By.ID)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(f.Absolute)) {
		fmt.Fprintf(&b, "%s: %s\n", path, f.Absolute[path].ID)
	}
	// With one of several creates goes some of what was built on it; and what has lost its effect may have it again.
	if !a.ended() && !merge.TakesOne(a.kind) {
		for _, s := range f.Superseded {
			fmt.Fprintf(&b, "lost %s=%s by %s to %s\n", s.Path, s.Value, s.By, s.Over)
		}
	}
	fmt.Fprintf(&b, "lives at %v, digest %s, merge patches as %s\n", h.Placement().Sites, f.Digest("d"), h.MergeType())
	for _, gone := range []bool{false, true} {
		standing := a.standing()
		standing.Gone = gone
		a.tellStep(&b, Next(h, standing))
	}
	for _, o := range a.history.Ordered() {
		if !a.history.Base().Has(o) && !a.mixed {
			fmt.Fprintf(&b, "%s after %v\n", o.ID, h.Parents(h.Get(o.ID)))
		}
	}
	return b.String()
}

func (a *archive) tellStep(b *bytes.Buffer, step Step) {
	fmt.Fprintf(b, "%s %v", step.Kind, ids(slices.Concat(step.Operations, step.Again)))
	for _, o := range step.Voided {
		if !a.history.Base().Has(o) { // of those it is over
			fmt.Fprintf(b, " voids %s", o.ID)
		}
	}
	if step.Late {
		b.WriteString(" late")
	}
	if step.Correction != nil {
		fmt.Fprintf(b, " %s", tell(step.Correction))
	}
	if step.Make != nil {
		fmt.Fprintf(b, " %s %s", step.Make.ID, step.Make.Body)
	}
	b.WriteByte('\n')
}

// TestInvariantCheckpointsChangeNothing plays random histories, under every rule, at sites that compact theirs at random
// moments, also while somebody goes on writing.
func TestInvariantCheckpointsChangeNothing(t *testing.T) {
	t.Run("no rules", func(t *testing.T) { playCheckpoints(t, lab, requests) })
	for name, k := range kinds() {
		requests := declaredRequests
		if merge.TakesOne(k) { // over so many steps, an addition that has lost its effect leaves traces in what a later one began with
			requests = slices.DeleteFunc(slices.Clone(requests), func(r request) bool { return strings.HasSuffix(r.path, "/incr") })
		}
		t.Run(name, func(t *testing.T) { playCheckpoints(t, k, requests) })
	}
}

func playCheckpoints(t *testing.T, k *Kind, requests []request) {
	compacted, mixed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		sites := make([]engine.SiteID, rapid.IntRange(2, 4).Draw(t, "sites"))
		archives := make([]*archive, len(sites))
		for i := range sites {
			sites[i] = engine.SiteID(rune('a' + i))
			archives[i] = newArchive(sites[i], k)
			archives[i].watch = func() { archives[i].same(t) }
		}
		for n := range rapid.IntRange(10, 60).Draw(t, "steps") {
			a := rapid.SampledFrom(archives).Draw(t, "at")
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				r := rapid.SampledFrom(requests).Draw(t, "request")
				if r.typ == engine.TypeDelete && rapid.IntRange(0, 3).Draw(t, "really") > 0 {
					continue
				}
				body := r.body
				if r.typ == engine.TypeAbsolute {
					body += fmt.Sprint(n)
				}
				if o := a.issue(t, r.typ, r.path, body, rapid.Int64Range(0, 20).Draw(t, "clock")); o != nil {
					a.whole.Add(o)
				}
			case 2, 3:
				a.hear(rapid.SampledFrom(archives).Draw(t, "from"))
				if rapid.Bool().Draw(t, "apply") {
					a.catchUp(t)
				}
			case 4:
				if a.compact(t, sites) {
					compacted++
					if len(a.history.Base().Late) > 0 {
						mixed++
					}
				}
			}
			a.same(t)
		}
		allHear(t, archives)
		for _, a := range archives {
			a.compact(t, sites)
			a.same(t)
			a.lawful(t)
			if n := a.history.Len(); n > 0 && a.history.Base() != nil {
				t.Fatalf("%s keeps %d operations that every site has settled", a.site, n)
			}
		}
	})
	if compacted < 10 || mixed < 3 {
		t.Errorf("only %d checkpoints were made, %d of them while something concurrent was under way", compacted, mixed)
	}
}

func allHear(t failer, archives []*archive) {
	for range 3 {
		for _, a := range archives {
			for _, b := range archives {
				a.hear(b)
			}
			a.catchUp(t)
		}
	}
}

// TestACheckpointIsBounded changes one resource fifteen hundred times at two sites. With each change a field comes and another
// one goes.
func TestACheckpointIsBounded(t *testing.T) {
	a, b := newDesk("a"), newDesk("b")
	most := 0
	a.issue(t, engine.TypeCreate, "/images", `{"name":"n","opaque":"x"}`, 0)
	for i := range 1500 {
		[]*desk{a, b}[i%2].issue(t, engine.TypeMerge, "/images/{id}", fmt.Sprintf(`{"f%d":%d,"g%d":1,"g%d":null}`, i%20, i, i, i-30), 0)
		if i%10 == 0 {
			for range 2 {
				b.hears(t, slices.Clone(a.history.Ordered())...)
				a.hears(t, slices.Clone(b.history.Ordered())...)
			}
			a.history.Compact(a.history.Complete(), none, nil)
			b.history.Compact(b.history.Complete(), none, nil)
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
	c := a.history.Base()
	if n := len(engine.Encode(c)); n > 40<<10 {
		t.Errorf("the checkpoint of a resource of some 60 fields has %d bytes", n)
	}
	if c.Count+uint64(len(c.Kept)) < 1400 {
		t.Errorf("the checkpoint stands for %d operations", c.Count)
	}
}

// TestWhatIsLeftOfAnActionIsNotSent has an increment to be applied once more of which a checkpoint keeps what it adds, without
// its body: the number is set, and the increment is not sent.
func TestWhatIsLeftOfAnActionIsNotSent(t *testing.T) {
	made := &Operation{ID: "a-0", Type: engine.TypeCreate, Path: "/images", Line: "a", Origin: "a", Number: 1, Time: 1, Body: []byte(`{"name":"a"}`), Edit: set("/name", `"a"`)}
	incr := &Operation{ID: "a-1", Type: engine.TypeAction, Method: "POST", Path: "/images/{id}/incr", Line: "a", Origin: "a", Number: 2, Time: 2,
		Body: []byte(`{"by":4}`), Edit: &Edit{Add: map[Pointer]engine.Increment{"/count": {By: "4"}}}}
	h := historyOf(kinds()["default"], "a", made, incr)
	if !h.Compact(h.Complete(), none, nil) {
		t.Fatal("nothing was compacted")
	}
	step := Next(h, Standing{Settled: func(o *Operation) bool { return o.ID != incr.ID }, Void: none, Blocked: none})
	if step.Kind != StepCorrect || string(step.Correction.Set["/count"]) != "4" {
		t.Errorf("the next step is %+v", step)
	}
}

// TestALateComerBeginsWithACheckpoint has a site that was added get a checkpoint of another, and what comes after it. It shows
// what the others show, also where two operations, which an application does not take together, are in the checkpoint.
func TestALateComerBeginsWithACheckpoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := newDesk("a"), newDesk("b")
		var all []*Operation
		for n := range rapid.IntRange(4, 20).Draw(t, "steps") {
			d := rapid.SampledFrom([]*desk{a, b}).Draw(t, "site")
			if rapid.Bool().Draw(t, "deliver") {
				d.hears(t, all...)
			} else if o := d.issueAny(t, slices.Clone(requests[:7]), n); o != nil {
				all = append(all, o)
			}
		}
		if len(all) < 2 {
			return
		}
		a.hears(t, all...)
		b.hears(t, all...)
		x := a.issueAny(t, slices.Clone(requests[2:7]), 100) // beside the checkpoint
		stable := a.history.Complete()
		line := engine.Line(a.site)
		stable[line] -= uint64(rapid.IntRange(0, 2).Draw(t, "unsettled")) % (stable[line] + 1)
		if !b.history.Compact(stable, none, nil) {
			return
		}
		var c merge.Checkpoint
		if err := engine.Decode(engine.Encode(b.history.Base()), &c); err != nil || c.Validate() != nil {
			t.Fatal(err, c.Validate())
		}
		late := newDesk("c")
		late.history.Stand(&c)
		late.hears(t, append(all, x)...)
		b.hears(t, x)
		late.lawful(t)
		sameEverywhere(t, []*desk{a, b, late})
	})
}
