package world

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
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
	// statuses counts those that it has told, sum is what an honest site has told last of an epoch that ends.
	statuses uint64
	sum      []byte
	// latest is the time of the last operation that it has seen, wrote how far its lines have come.
	latest time.Time
	wrote  map[engine.Line]engine.Wrote
	in     map[engine.Line]uint64 // the epochs of its lines
}

// branch is what the pen goes on from: one of the stories that it tells of its line.
type branch struct {
	epoch uint64
	tip   engine.Tip
	ops   uint64
	at    time.Time
}

func newPen(w *World, of *Site, document engine.DocumentID) *pen {
	p := &pen{w: w, of: of, id: document, wrote: map[engine.Line]engine.Wrote{}, in: map[engine.Line]uint64{}}
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

func (p *pen) begin(epoch uint64) branch {
	return branch{epoch: epoch, tip: p.of.documents.First(p.about, p.id, epoch), at: p.w.Now}
}

// overhear takes note of what honest sites tell of an epoch that ends.
func (p *pen) overhear() {
	for _, l := range p.w.wire {
		var heard engine.Letter
		if engine.Decode(l.body, &heard) != nil {
			continue
		}
		for _, b := range heard.Batches {
			for _, raw := range b.Statuses {
				var st engine.Status
				if engine.Decode(raw, &st) == nil && st.Sum != nil {
					p.sum = st.Sum
				}
			}
		}
	}
}

// tells returns a letter that tells what the pen pretends to have: all that a site has, and of an epoch that ends all as well, or not.
func (p *pen) tells(epoch uint64, settled engine.Vector, whole bool) *engine.Letter {
	p.statuses++
	lines := map[engine.Line]engine.Wrote{}
	for l, w := range p.wrote {
		switch p.in[l] {
		case epoch:
			lines[l] = w
		case epoch - 1:
			lines[l] = engine.Wrote{Final: w.Changes, Issued: w.Issued}
		}
	}
	st := &engine.Status{Document: p.id, Number: 1000 + p.statuses, Lines: lines, At: p.w.Now.UnixMicro(), Epoch: epoch, Settled: settled, Whole: whole, Sum: p.sum}
	return &engine.Letter{Batches: []engine.StatusBatch{p.of.documents.SignStatuses([][]byte{engine.Encode(st)})}}
}

// write goes on with a branch, and returns the letter that brings what it has written.
func (p *pen) write(run string, b *branch, seen engine.Vector, o engine.Operation) *engine.Letter {
	for _, at := range []time.Time{p.w.Now, p.latest.Add(time.Millisecond)} {
		if b.at = b.at.Add(time.Millisecond); b.at.Before(at) {
			b.at = at
		}
	}
	b.ops++
	seen = maps.Clone(seen)
	delete(seen, p.line(run))
	o.ID, o.Number, o.Time, o.Seen, o.User = engine.OperationID(p.w.newID()), b.ops, b.at.UnixMicro(), seen, "mallory"
	c, err := p.of.documents.Write(p.about, p.id, b.epoch, p.line(run), b.tip, []engine.Entry{{Map: engine.MapOperations, Value: engine.Encode(&o)}})
	if err != nil {
		panic(err)
	}
	p.of.documents.SignChanges([]*engine.Change{c})
	b.tip = c.Tip()
	was := p.wrote[p.line(run)]
	p.wrote[p.line(run)] = engine.Wrote{Changes: max(was.Changes, b.tip.Number), Issued: max(was.Issued, b.ops)}
	p.in[p.line(run)] = b.epoch
	return &engine.Letter{Parcels: []engine.Parcel{{About: p.raw, Epoch: b.epoch, Changes: []engine.SignedChange{c.SignedChange}}}}
}

// epoch is the last one that a site writes in.
func (p *pen) epoch(at *Site) (last uint64) {
	for _, c := range at.Disk.byDocument[p.id].changes {
		last = max(last, c.Epoch)
	}
	return last
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

// proof is the letter that brings two changes as the proof of a fork.
func proof(one, other *engine.Letter) *engine.Letter {
	p := one.Parcels[0]
	p.Changes = append(slices.Clone(p.Changes), other.Parcels[0].Changes...)
	return &engine.Letter{Parcels: []engine.Parcel{p}}
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

// latest is the time of the last operation that a site has.
func (w *World) latest(s *Site, id engine.DocumentID) (at time.Time) {
	for _, c := range s.Disk.byDocument[id].changes {
		for _, e := range c.Entries {
			var o engine.Operation
			if e.Map == engine.MapOperations && engine.Decode(e.Value, &o) == nil && engine.Time(o.Time).After(at) {
				at = engine.Time(o.Time)
			}
		}
	}
	return at
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
	common := p.begin(0)
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

// TestManyForksAreBounded: of a member that has forked eight lines nothing counts any more, in any line, and no more forks of it are kept.
func TestManyForksAreBounded(t *testing.T) {
	w := newWorld(t, 4)
	honest, mallory := w.Sites[:3], w.Sites[3]
	if _, err := w.put(honest[0], "one", `{"colour":"red"}`); err != nil {
		t.Fatal(err)
	}
	id := w.document(t, "one")
	mallory.Proc.Die()
	p, seen := newPen(w, mallory, id), w.seenAll(t, honest[0], id)
	plain := p.begin(0)
	for _, s := range honest {
		p.give(s, p.write("plain", &plain, seen, sets("size", 1)))
	}
	w.quiet()
	for i := range 3 * engine.MaxForks {
		run, begun := fmt.Sprint("f", i), p.begin(0)
		for j := range 2 {
			told := begun
			p.give(honest[(i+j)%3], p.write(run, &told, seen, sets("mood", i*10+j)))
		}
	}
	w.compare(t, honest)
	w.alike(t, "one", honest, mallory.ID)
	for _, s := range honest {
		if fields := s.App.Object("note", "one").Fields; fields["size"] != nil || fields["mood"] != nil || fields["colour"] != "red" {
			t.Errorf("%s shows %v", s, fields)
		}
		forks, err := s.Disk.Forks(w.Ctx, id)
		if err != nil || len(forks) != engine.MaxForks {
			t.Errorf("%s keeps %d forks, %v", s, len(forks), err)
		}
		if by := s.Proc.Core.Site.Shared()[mallory.ID].Forks; by != engine.MaxForks {
			t.Errorf("%s tells of %d forks", s, by)
		}
	}
}

// TestProofsCountByThemselves: a member writes eight lines, and tells one site that each parts in its third change. That site has let go of what
// comes before; the others, to which it brings the proofs, have never had it.
func TestProofsCountByThemselves(t *testing.T) {
	w := newWorld(t, 4)
	paris, nantes, lille, mallory := w.Sites[0], w.Sites[1], w.Sites[2], w.Sites[3]
	if _, err := w.put(paris, "one", `{"colour":"red"}`); err != nil {
		t.Fatal(err)
	}
	id := w.document(t, "one")
	w.quiet()
	mallory.Proc.Die()
	lille.Proc.Die()
	p, seen := newPen(w, mallory, id), w.seenAll(t, paris, id)
	for i := range engine.MaxForks {
		run, told := fmt.Sprint("f", i), p.begin(0)
		for j := range 2 {
			p.give(nantes, p.write(run, &told, seen, sets("mood", i*10+j)))
		}
		other := told
		for j, b := range []*branch{&told, &other} {
			p.give(nantes, p.write(run, b, seen, sets("size", i*10+j)))
		}
	}
	w.Lose() // what it tells others of that
	if err := lille.Start(); err != nil {
		t.Fatal(err)
	}
	honest := []*Site{paris, nantes, lille}
	w.compare(t, honest)
	w.alike(t, "one", honest, mallory.ID)
}

// TestAProofBeforeWhatStands: a site has the proof that a line parts before it has the beginning of that line, which counts, and which another site
// has seen in what it has written.
func TestAProofBeforeWhatStands(t *testing.T) {
	w := newWorld(t, 4)
	paris, nantes, lille, mallory := w.Sites[0], w.Sites[1], w.Sites[2], w.Sites[3]
	if _, err := w.put(paris, "one", `{"colour":"red"}`); err != nil {
		t.Fatal(err)
	}
	id := w.document(t, "one")
	w.quiet()
	mallory.Proc.Die()
	lille.Proc.Die()
	p, seen := newPen(w, mallory, id), w.seenAll(t, paris, id)
	told := p.begin(0)
	first := p.write("x", &told, seen, sets("size", 1))
	other := told
	parts := proof(p.write("x", &told, seen, sets("size", 2)), p.write("x", &other, seen, sets("size", 3)))
	p.give(nantes, first)
	nantes.WorkOff()
	w.patch(nantes, "one", "weight", 4, func() {})
	p.give(paris, parts)
	paris.WorkOff()
	if err := lille.Start(); err != nil {
		t.Fatal(err)
	}
	honest := []*Site{paris, nantes, lille}
	w.compare(t, honest)
	w.alike(t, "one", honest, mallory.ID)
	for _, s := range honest {
		if fields := s.App.Object("note", "one").Fields; fields["size"] != 1.0 || fields["weight"] != 4.0 {
			t.Errorf("%s shows %v", s, fields)
		}
	}
}

// TestInvariantForkedLinesEndAlike: members of any number write lines that part wherever they like, and give each site what they like in any order, among
// changes of honest sites, deaths and comparisons. In the end the honest sites have the same documents and show the same, and all that honest
// clients have set is there.
func TestInvariantForkedLinesEndAlike(t *testing.T) {
	seeds := []uint64{*forkSeed}
	if *forkSeed == 0 {
		seeds = seeds[:0]
		for seed := range uint64(60) {
			seeds = append(seeds, seed+1)
		}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { forkedLines(t, seed) })
	}
}

var forkSeed = flag.Uint64("world.fork", 0, "play the forks of this seed alone; 0: of some")

func forkedLines(t *testing.T, seed uint64) {
	t.Logf("go test ./testnet/world -run ForkedLines -world.fork %d", seed)
	rng := rand.New(rand.NewPCG(seed, 7))
	limits := site.Limits{CallTimeout: 3 * time.Second, History: 8}
	if seed%2 == 0 { // epochs come and go
		limits.Epoch, limits.History = 3, 1
	}
	w, err := New(Options{Sites: 4, Kinds: []*engine.Kind{note}, Rng: rand.New(rand.NewPCG(seed, 1)), Luck: rand.New(rand.NewPCG(seed, 2)),
		Limits: func(*Site) site.Limits { return limits }})
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
	most := 2 + 10*int(seed%3/2) // lines in an epoch: two, or so many that nothing of it counts
	var runs []string
	branches, letters := map[string][]branch{}, map[string][]*engine.Letter{}
	want, n := map[string]any{"colour": "red"}, 0
	for range 30 + rng.IntN(60) {
		s := honest[rng.IntN(len(honest))]
		switch rng.IntN(8) {
		case 0, 1: // the pen goes on with one of its stories, or begins another one
			epoch := p.epoch(s)
			run := fmt.Sprint("x", rng.IntN(most), "e", epoch)
			if branches[run] == nil {
				runs = append(runs, run)
				branches[run] = []branch{p.begin(epoch)}
			}
			b := branches[run][rng.IntN(len(branches[run]))]
			letters[run] = append(letters[run], p.write(run, &b, seen, sets(fmt.Sprint("m", rng.IntN(4)), rng.IntN(100))))
			branches[run] = append(branches[run], b)
		case 2, 3: // a site gets something of it, and what comes before that perhaps not
			if len(runs) > 0 {
				run := runs[rng.IntN(len(runs))]
				list := letters[run]
				if i, j := rng.IntN(len(list)), rng.IntN(len(list)); i != j && branches[run][i+1].tip.Number == branches[run][j+1].tip.Number {
					p.give(s, proof(list[i], list[j]))
					break
				}
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
		case 7: // it tells a site what it pretends to have, so that epochs end
			for l, n := range w.seenAll(t, s, id) { // it has seen that in what it writes from now on, as anybody would have
				seen[l] = max(seen[l], n)
			}
			p.latest = w.latest(s, id)
			p.give(s, p.tells(p.epoch(s), maps.Clone(seen), rng.IntN(4) > 0))
		}
		p.overhear()
	}
	for _, s := range honest {
		if s.Proc == nil {
			if err := s.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Whoever forks is found out where both changes come to honest sites: let each get all that the pen has written.
	for i, run := range runs {
		for j, l := range letters[run] {
			p.give(honest[(i+j+int(seed))%len(honest)], l)
		}
	}
	if seed%4 == 0 { // it lets the epoch end
		for range 3 {
			w.compare(t, honest)
			p.overhear()
			for _, s := range honest {
				for l, n := range w.seenAll(t, s, id) {
					seen[l] = max(seen[l], n)
				}
			}
			for _, s := range honest {
				p.give(s, p.tells(p.epoch(s), maps.Clone(seen), true))
			}
		}
	}
	for range 3 { // what a process has left open that has died waits a while
		w.compare(t, honest)
		w.Pass(15 * time.Second)
		w.quiet()
	}
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

// TestInvariantAnHonestLineIsNeverForked: a member has heard what an honest site has written in two resources. It passes a change of one on as
// one of the other, or of another epoch, and two of them as the proof of a fork. Nobody takes that for a word of the honest site's.
func TestInvariantAnHonestLineIsNeverForked(t *testing.T) {
	w := newWorld(t, 4)
	paris, nantes, mallory := w.Sites[0], w.Sites[1], w.Sites[3]
	honest := w.Sites[:3]
	var pens []*pen
	for _, id := range []engine.ResourceID{"one", "two"} {
		if _, err := w.put(paris, string(id), fmt.Sprintf(`{"name":%q}`, id)); err != nil {
			t.Fatal(err)
		}
		w.patch(paris, string(id), "size", 1, func() {})
		w.quiet()
		pens = append(pens, newPen(w, mallory, w.document(t, id)))
	}
	mallory.Proc.Die()
	heard := func(p *pen) (list []engine.SignedChange) {
		for _, c := range paris.Disk.byDocument[p.id].changes {
			if c.Author() == paris.ID {
				list = append(list, c.SignedChange)
			}
		}
		return list
	}
	ones, twos := heard(pens[0]), heard(pens[1])
	if len(ones) < 2 || len(twos) < 2 || ones[0].Line != twos[0].Line {
		t.Fatalf("paris has written %d and %d changes", len(ones), len(twos))
	}
	for _, changes := range [][]engine.SignedChange{twos[:1], twos[1:2], {ones[0], twos[0]}, {ones[0], twos[1]}, {ones[1], twos[1]}, ones[:1], ones[1:2]} {
		for epoch := range uint64(2) {
			pens[0].give(nantes, &engine.Letter{Parcels: []engine.Parcel{{About: pens[0].raw, Epoch: epoch, Changes: changes}}})
		}
	}
	w.quiet()
	w.patch(nantes, "one", "height", 4, func() {})
	w.patch(paris, "one", "weight", 3, func() {})
	w.compare(t, honest)
	want := map[string]any{"name": "one", "size": 1.0, "weight": 3.0, "height": 4.0}
	for _, s := range honest {
		if named := s.Disk.conflictsWith(func(c engine.Conflict) bool { return c.Kind == engine.ConflictForked }); len(named) > 0 {
			t.Errorf("%s says that somebody has signed two changes under one number: %v", s, named)
		}
		fields := s.App.Object("note", "one").Fields
		for k, v := range want {
			if fields[k] != v {
				t.Errorf("%s: %s is %v, not %v", s, k, fields[k], v)
			}
		}
	}
}

// TestInvariantNoNumberIsGivenTwice: a change that a site has told others of goes from its disk and from its memory, which nothing does. The site signs
// no other one under its number: it writes another line from there on, and gets what it had written from the others.
func TestInvariantNoNumberIsGivenTwice(t *testing.T) {
	w, err := New(Options{Sites: 3, Kinds: []*engine.Kind{note}, Rng: rand.New(rand.NewPCG(1, 1)), Luck: rand.New(rand.NewPCG(1, 2)),
		Limits: func(*Site) site.Limits { return site.Limits{CallTimeout: 3 * time.Second, Cache: 1} }})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	paris := w.Sites[0]
	if _, err := w.put(paris, "one", `{"colour":"red"}`); err != nil {
		t.Fatal(err)
	}
	w.patch(paris, "one", "size", 1, func() {})
	w.quiet()
	rec := paris.Disk.byDocument[w.document(t, "one")]
	last := rec.changes[len(rec.changes)-1]
	if last.Author() != paris.ID || last.Number < 2 {
		t.Fatalf("the last change is number %d of %s", last.Number, last.Line)
	}
	rec.changes = rec.changes[:len(rec.changes)-1]
	for i := range 3 { // others take its place in memory
		if _, err := w.put(paris, fmt.Sprint("other", i), `{"colour":"blue"}`); err != nil {
			t.Fatal(err)
		}
	}
	w.patch(paris, "one", "weight", 3, func() {})
	w.quiet()
	if len(w.Problems) != 1 || !strings.Contains(w.Problems[0], "was given before, and is not here any more") {
		t.Errorf("these problems were told: %v", w.Problems)
	}
	w.Problems = nil
	w.compare(t, w.Sites)
	done := 0
	w.patch(paris, "one", "height", 4, func() { done++ })
	w.compare(t, w.Sites)
	if done != 1 {
		t.Error("paris does not take changes any more")
	}
	for _, s := range w.Sites {
		if named := s.Disk.conflictsWith(func(c engine.Conflict) bool { return c.Kind == engine.ConflictForked }); len(named) > 0 {
			t.Errorf("%s says that somebody has signed two changes under one number: %v", s, named)
		}
		if fields := s.App.Object("note", "one").Fields; fields["size"] != 1.0 || fields["height"] != 4.0 {
			t.Errorf("%s shows %v", s, fields)
		}
	}
}
