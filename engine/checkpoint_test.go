package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// archive is a desk that compacts its history, beside the same history uncompacted.
type archive struct {
	*desk
	whole *History
	// known is what each site has published, as far as it was heard here: what was settled there.
	known map[SiteID]map[Line]uint64
}

func newArchive(site SiteID) *archive {
	return &archive{desk: newDesk(site), whole: NewHistory(), known: map[SiteID]map[Line]uint64{}}
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
	return a.history.Compact(a.history.Cut(meet(vectors)), func(*Operation) bool { return false })
}

// same checks that nothing tells the compacted history from the whole one.
func (a *archive) same(t failer) {
	t.Helper()
	tell := func(h *History) string {
		f := FoldOf(h, anyOperation)
		var b bytes.Buffer
		fmt.Fprintf(&b, "exists %t\n", f.Exists)
		for _, p := range sortedPointers(f.Cells) {
			fmt.Fprintf(&b, "%s=%s by %s\n", p, f.Cells[p].Value, f.Cells[p].By)
		}
		for _, path := range slices.Sorted(maps.Keys(f.Absolute)) {
			fmt.Fprintf(&b, "%s: %s\n", path, f.Absolute[path].ID)
		}
		for _, s := range f.Superseded {
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
			if step.Correction != nil {
				fmt.Fprintf(&b, " %s", compactStruct(step.Correction))
			}
			if step.Make != nil {
				fmt.Fprintf(&b, " %s %s", step.Make.ID, step.Make.Body)
			}
			b.WriteByte('\n')
		}
		for _, o := range a.history.Ordered() {
			if !a.history.base.has(o) {
				fmt.Fprintf(&b, "%s after %v\n", o.ID, h.Parents(h.Get(o.ID)))
			}
		}
		return b.String()
	}
	if got, want := tell(a.history), tell(a.whole); got != want {
		t.Fatalf("%s has compacted to something else:\n%s\nwant:\n%s", a.site, got, want)
	}
}

// TestInvariantCheckpointsChangeNothing plays random histories at sites that compact theirs at random moments.
func TestInvariantCheckpointsChangeNothing(t *testing.T) {
	compacted := 0
	rapid.Check(t, func(t *rapid.T) {
		sites := make([]SiteID, rapid.IntRange(2, 4).Draw(t, "sites"))
		archives := make([]*archive, len(sites))
		for i := range sites {
			sites[i] = SiteID(rune('a' + i))
			archives[i] = newArchive(sites[i])
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
	if compacted < 10 {
		t.Errorf("only %d checkpoints were made", compacted)
	}
}

// TestACheckpointIsBounded changes one resource five thousand times at two sites.
func TestACheckpointIsBounded(t *testing.T) {
	a, b := newArchive("a"), newArchive("b")
	most := 0
	issue := func(x *archive, typ Type, path, body string) {
		if o := x.issue(t, typ, path, body, 0); o != nil {
			x.whole.Add(o)
		}
	}
	issue(a, TypeCreate, "/images", `{"name":"n","opaque":"x"}`)
	for i := range 5000 {
		issue([]*archive{a, b}[i%2], TypeMerge, "/images/{id}", fmt.Sprintf(`{"f%d":%d}`, i%20, i))
		if i%10 == 0 {
			a.whole, b.whole = NewHistory(), NewHistory() // beside the point here
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
			a.history.Compact(a.history.Cut(all), func(*Operation) bool { return false })
			b.history.Compact(b.history.Cut(all), func(*Operation) bool { return false })
		}
		most = max(most, len(a.history.Ordered()), len(b.history.Ordered()))
	}
	if most > 20 {
		t.Errorf("a history has held %d operations", most)
	}
	encoded, err := json.Marshal(a.history.base)
	if err != nil {
		t.Fatal(err)
	}
	if len(encoded) > 8<<10 {
		t.Errorf("the checkpoint of a resource of 22 fields has %d bytes", len(encoded))
	}
	if a.history.base.Count+len(a.history.base.Kept) < 4900 {
		t.Errorf("the checkpoint stands for %d operations", a.history.base.Count)
	}
}
