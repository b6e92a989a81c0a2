package world

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/site"
)

// pen writes in the name of a site whose agent does not run any more, whatever it likes.
type pen struct {
	w     *World
	of    *Site
	about engine.About
	raw   []byte
	id    engine.DocumentID
}

// branch is what the pen goes on from: one of the stories that it tells of its line.
type branch struct {
	tip engine.Tip
	ops uint64
	at  time.Time
}

func newPen(w *World, of *Site, document engine.DocumentID) *pen {
	p := &pen{w: w, of: of, id: document}
	rec, err := w.Sites[0].Disk.Record(w.Ctx, document)
	if err == nil {
		p.raw = rec.About
		p.about, _, err = of.documents.Decode(rec.About)
	}
	if err != nil {
		panic(err)
	}
	return p
}

func (p *pen) line(run string) engine.Line { return engine.LineOf(p.of.ID, run) }

func (p *pen) begin() branch {
	return branch{tip: p.of.documents.First(p.about, p.id, 0), at: p.w.Now}
}

// write goes on with a branch, and returns the letter that brings what it has written.
func (p *pen) write(run string, b *branch, seen engine.Vector, o engine.Operation) *engine.Letter {
	if b.at = b.at.Add(time.Millisecond); b.at.Before(p.w.Now) {
		b.at = p.w.Now
	}
	b.ops++
	o.ID, o.Number, o.Time, o.Seen, o.User = engine.OperationID(p.w.newID()), b.ops, b.at.UnixMicro(), seen, "mallory"
	c, err := p.of.documents.Write(p.about, p.id, 0, p.line(run), b.tip, []engine.Entry{{Map: engine.MapOperations, Value: engine.Encode(&o)}})
	if err != nil {
		panic(err)
	}
	b.tip = c.Tip()
	return &engine.Letter{Parcels: []engine.Parcel{{About: p.raw, Changes: []engine.SignedChange{c.SignedChange}}}}
}

// give hands a letter to a site.
func (p *pen) give(to *Site, l *engine.Letter) {
	if to.Proc != nil {
		p.w.Do(to.Proc, func() { to.Proc.receive(p.of, sent(l)) })
	}
}

// sets is an operation that sets one field.
func sets(field string, value any) engine.Operation {
	return engine.Operation{Type: engine.TypeMerge, Method: http.MethodPatch, Path: note.Item, Header: map[string]string{"Content-Type": MergePatch},
		Body: encode(map[string]any{field: value}), Edit: &engine.Edit{Set: map[engine.Pointer]json.RawMessage{engine.Pointer("/" + field): encode(value)}}}
}

// patch has a client change one field at a site. Done is called once it is told that it was.
func (w *World) patch(at *Site, id, field string, value any, done func()) {
	w.Do(at.Proc, func() {
		a, err := at.Proc.Front.Submit(w.Ctx, engine.Request{Kind: note, Type: engine.TypeMerge, Method: http.MethodPatch, Path: note.Item, Target: id,
			Header: map[string]string{"Content-Type": MergePatch}, Body: encode(map[string]any{field: value})})
		if err == nil && a.Status == http.StatusOK {
			done()
		}
	})
}

// compare has the sites compare until they have nothing differently, and do what is left to do.
func (w *World) compare(t *testing.T, sites []*Site) {
	t.Helper()
	for range 40 {
		w.Reconcile()
		w.quiet()
		same := true
		for _, a := range sites {
			for _, b := range sites {
				same = same && (a == b || len(w.Differ(a, b)) == 0)
			}
		}
		if same {
			return
		}
	}
	t.Error("the sites differ however often they compare")
}

// alike checks that sites show the same object, and that each names the forker.
func (w *World) alike(t *testing.T, id string, sites []*Site, forker engine.SiteID) {
	t.Helper()
	for _, s := range sites {
		mine, theirs := s.App.Object("note", engine.LocalID(id)), sites[0].App.Object("note", engine.LocalID(id))
		if (mine == nil) != (theirs == nil) || mine != nil && !reflect.DeepEqual(mine.Fields, theirs.Fields) {
			t.Errorf("%s shows %s, %s %s", s, encode(mine), sites[0], encode(theirs))
		}
		named := s.Disk.conflictsWith(func(c engine.Conflict) bool { return c.Kind == engine.ConflictForked && c.Site == forker })
		if len(named) == 0 {
			t.Errorf("%s does not say who has signed two changes under one number", s)
		}
	}
	for _, p := range w.Problems {
		t.Error(p)
	}
}

func (w *World) document(t *testing.T, id engine.ResourceID) engine.DocumentID {
	t.Helper()
	row, err := w.Sites[0].Disk.ResourceByID(w.Ctx, "model", "note", id)
	if err != nil {
		t.Fatal(err)
	}
	return row.Document
}

// seenAll is all that a site has settled of a resource.
func (w *World) seenAll(t *testing.T, s *Site, id engine.DocumentID) engine.Vector {
	t.Helper()
	seen := engine.Vector{}
	for _, c := range s.Disk.byDocument[id].changes {
		for _, e := range c.Entries {
			var o engine.Operation
			if e.Map == engine.MapOperations && engine.Decode(e.Value, &o) == nil {
				seen[c.Line] = max(seen[c.Line], o.Number)
			}
		}
	}
	return seen
}

// TestAFork: a member signs one change for one site and another one for the other. Both have done what they were told; then each hears what the
// other was told. What the member has written from there on is taken back at both, and all else stands.
func TestAFork(t *testing.T) {
	w := newWorld(t, 4)
	paris, nantes, lille, mallory := w.Sites[0], w.Sites[1], w.Sites[2], w.Sites[3]
	if _, err := w.put(paris, "one", `{"colour":"red"}`); err != nil {
		t.Fatal(err)
	}
	id := w.document(t, "one")
	mallory.Proc.Die()
	p, seen := newPen(w, mallory, id), w.seenAll(t, paris, id)
	common := p.begin()
	first := p.write("x", &common, seen, sets("size", 1))
	for _, s := range []*Site{paris, nantes, lille} {
		p.give(s, first)
	}
	w.quiet()
	here, there := common, common
	p.give(paris, p.write("x", &here, seen, sets("colour", "green")))
	paris.WorkOff()
	p.give(paris, p.write("x", &here, seen, sets("mood", "bad")))
	p.give(nantes, p.write("x", &there, seen, sets("colour", "blue")))
	paris.WorkOff()
	nantes.WorkOff()
	if at := paris.App.Object("note", "one").Fields["colour"]; at != "green" {
		t.Fatalf("paris has not heard it: %v", at)
	}
	if at := nantes.App.Object("note", "one").Fields["colour"]; at != "blue" {
		t.Fatalf("nantes has not heard it: %v", at)
	}
	done := 0
	w.patch(paris, "one", "weight", 3, func() { done++ }) // it has seen what does not count in the end
	w.patch(nantes, "one", "height", 4, func() { done++ })
	honest := []*Site{paris, nantes, lille}
	w.compare(t, honest)
	if done != 2 {
		t.Errorf("%d of 2 requests were done", done)
	}
	w.alike(t, "one", honest, mallory.ID)
	want := map[string]any{"colour": "red", "size": 1.0, "weight": 3.0, "height": 4.0}
	for _, s := range honest {
		fields := s.App.Object("note", "one").Fields
		for k, v := range want {
			if fields[k] != v {
				t.Errorf("%s: %s is %v, not %v", s, k, fields[k], v)
			}
		}
		if fields["mood"] != nil {
			t.Errorf("%s has still a mood: %v", s, fields["mood"])
		}
	}
}

// TestInvariantForkedLinesEndAlike: members of any number write lines that part wherever they like, and give each site what they like in any order, among
// changes of honest sites, deaths and comparisons. In the end the honest sites have the same documents and show the same, and all that honest
// clients have set is there.
func TestInvariantForkedLinesEndAlike(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { forkedLines(t, seed) })
	}
}

func forkedLines(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	w, err := New(Options{Sites: 4, Kinds: []*engine.Kind{note}, Rng: rand.New(rand.NewPCG(seed, 1)), Luck: rand.New(rand.NewPCG(seed, 2)),
		Limits: func(*Site) site.Limits { return site.Limits{CallTimeout: 3 * time.Second, History: 8} }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	honest, mallory := w.Sites[:3], w.Sites[3]
	if _, err := w.put(honest[0], "one", `{"colour":"red"}`); err != nil {
		t.Fatal(err)
	}
	id := w.document(t, "one")
	mallory.Proc.Die()
	p := newPen(w, mallory, id)
	seen := w.seenAll(t, honest[0], id)
	runs := []string{"x", "y"}
	branches := map[string][]branch{"x": {p.begin()}, "y": {p.begin()}}
	letters := map[string][]*engine.Letter{}
	want, n := map[string]any{"colour": "red"}, 0
	forked := false
	for range 20 + rng.IntN(40) {
		s := honest[rng.IntN(len(honest))]
		switch rng.IntN(7) {
		case 0, 1: // the pen goes on with one of its stories, or begins another one
			run := runs[rng.IntN(len(runs))]
			b := branches[run][rng.IntN(len(branches[run]))]
			parts := !slices.Contains(branches[run][len(branches[run])-1:], b)
			forked = forked || parts
			letters[run] = append(letters[run], p.write(run, &b, seen, sets(fmt.Sprint("m", rng.IntN(4)), rng.IntN(100))))
			branches[run] = append(branches[run], b)
		case 2, 3: // a site gets something of it, and what comes before that perhaps not
			run := runs[rng.IntN(len(runs))]
			if list := letters[run]; len(list) > 0 {
				from := rng.IntN(len(list))
				for _, l := range list[from : from+1+rng.IntN(len(list)-from)] {
					p.give(s, l)
				}
			}
		case 4:
			if s.Proc != nil {
				n++
				field := fmt.Sprint("h", n)
				value := n
				w.patch(s, "one", field, value, func() { want[field] = float64(value) })
			}
		case 5:
			if other := honest[rng.IntN(len(honest))]; rng.IntN(3) > 0 {
				w.Pull(s, other, 1+rng.IntN(4000), rng.IntN(3) == 0)
			} else if s.Proc == nil {
				if err := s.Start(); err != nil {
					t.Fatal(err)
				}
			} else if rng.IntN(2) == 0 {
				s.Proc.Die()
			}
		case 6:
			if w.Letters() > 0 {
				w.Deliver(rng.IntN(w.Letters()), rng.IntN(4) == 0)
			}
			s.WorkOff()
			w.Pass(time.Duration(rng.IntN(2000)) * time.Millisecond)
		}
	}
	for _, s := range honest {
		if s.Proc == nil {
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Whoever forks is found out where both changes come to honest sites: let each get all that the pen has written.
	if forked {
		for _, run := range runs {
			for i, l := range letters[run] {
				p.give(honest[(i+int(seed))%len(honest)], l)
			}
		}
	}
	w.compare(t, honest)
	for _, s := range honest {
		mine, first := s.App.Object("note", "one"), honest[0].App.Object("note", "one")
		if mine == nil || first == nil || !reflect.DeepEqual(mine.Fields, first.Fields) {
			t.Errorf("%s shows %s, %s %s", s, encode(mine), honest[0], encode(first))
			continue
		}
		for field, v := range want {
			if mine.Fields[field] != v {
				t.Errorf("%s: %s is %v, not %v", s, field, mine.Fields[field], v)
			}
		}
	}
	for _, problem := range w.Problems {
		t.Error(problem)
	}
}
