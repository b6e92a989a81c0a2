package merge

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
)

// TestInvariantACheckpointFoldsAlike puts checkpoints in the place of parts of random histories: what is known folds to the same
// before and after, also once what is beside the checkpoint has come. What a checkpoint is encoded as is what it was.
func TestInvariantACheckpointFoldsAlike(t *testing.T) {
	for name, k := range kinds() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { playCompaction(t, k) })
		})
	}
}

func playCompaction(t *rapid.T, k *Kind) {
	h := historyOf(k, drawOperations(t, k)...)
	whole := historyOf(k, h.Ordered()...)
	for range rapid.IntRange(1, 3).Draw(t, "times") {
		if len(h.Ordered()) == 0 { // all of it has ended
			return
		}
		stable := Vector{}
		for _, origin := range []Line{"a", "b", "c"} { // sorted, so that one seed draws the same
			if n := h.Complete()[origin]; n > 0 {
				stable[origin] = uint64(rapid.IntRange(0, int(n)).Draw(t, "stable"))
			}
		}
		most := stable.Clone()
		if h.Base() != nil {
			most.Join(h.Base().Seen)
		}
		held := rapid.SampledFrom(h.Ordered()).Draw(t, "held")
		known := h.Base().Has(held)
		if !h.Compact(stable, none, func(o *Operation) bool { return o == held }) {
			continue
		}
		if h.Base().Has(held) && !known || !most.Contains(h.Base().Seen) {
			t.Fatalf("the checkpoint stands for %v, but %v is stable and %s is held", h.Base().Seen, most, held.ID)
		}
		h.Stand(reread(t, h.Base()))
		got, want := h.Whole(Any), whole.Whole(Any)
		if got.Exists != want.Exists || string(got.Representation()) != string(want.Representation()) || got.Digest("d") != want.Digest("d") {
			t.Fatalf("it folds to %v %s, and did to %v %s", got.Exists, got.Representation(), want.Exists, want.Representation())
		}
	}
}

// reread is a checkpoint as it comes from the disk, or from another site.
func reread(t *rapid.T, c *Checkpoint) *Checkpoint {
	b := engine.Encode(c)
	var again Checkpoint
	if err := engine.Decode(b, &again); err != nil {
		t.Fatal(err)
	}
	if err := again.Validate(); err != nil {
		t.Fatal(err)
	}
	if string(engine.Encode(&again)) != string(b) {
		t.Fatal("what was decoded is encoded as something else")
	}
	return &again
}

func incr(id string, at int64, by, from json.Number, seen Vector) *Operation {
	o := op(id, engine.TypeAction, at, seen, &Edit{Add: map[Pointer]engine.Increment{"/count": {By: by, From: from}}})
	o.Method, o.Path = "POST", "/images/{id}/incr"
	return o
}

// TestALateDeleteOfOneOfTwoCreates compacts what a delete has ended of two creates of one name while the delete itself cannot be
// decided yet: what was added to the one that it ends is not added to the other.
func TestALateDeleteOfOneOfTwoCreates(t *testing.T) {
	create := func(id string, at int64) *Operation { return op(id, engine.TypeCreate, at, nil, set("/name", `"a"`)) }
	file := op("a-2", engine.TypeAbsolute, 1, nil, nil)
	file.Path = "/images/{id}/file"
	h := historyOf(kinds()["last writer"], create("a-1", 0), create("c-1", 0), file, incr("c-2", 5, "13", "", nil),
		op("c-3", engine.TypeDelete, 6, nil, nil), create("b-1", 13), incr("c-4", 14, "13", "", Vector{"b": 1}))
	want := string(h.Whole(Any).Cells["/count"].Value)
	if !h.Compact(h.Complete(), none, nil) {
		t.Fatal("nothing was compacted")
	}
	if got := string(h.Whole(Any).Cells["/count"].Value); got != want || want != "13" {
		t.Errorf("the count is %s, and was %s", got, want)
	}
}

// TestWhatWasAddedUpStaysSo compacts twice: the second time a delete that may be reversed keeps all from being decided, but not
// what stands for several additions since the first time.
func TestWhatWasAddedUpStaysSo(t *testing.T) {
	h := historyOf(kinds()["update wins"], op("a-1", engine.TypeCreate, 0, nil, set("/name", `"a"`)), incr("a-2", 1, "22", "", nil),
		incr("b-1", 2, "56", "22", Vector{"a": 2}), incr("a-3", 3, "51", "22", nil), op("a-4", engine.TypeMerge, 5, nil, set("/name", `"a"`)))
	count := func() string { return string(h.Whole(Any).Cells["/count"].Value) }
	for _, stable := range []Vector{{"a": 3, "b": 1}, {"a": 4, "b": 1}} {
		if !h.Compact(stable, none, nil) {
			t.Fatalf("nothing was compacted up to %v", stable)
		}
		if got := count(); got != "129" {
			t.Errorf("compacted up to %v, the count is %s", stable, got)
		}
		h.Add(op("b-2", engine.TypeDelete, 6, Vector{"a": 3}, nil))
		if got := count(); got != "129" {
			t.Errorf("after a delete that a concurrent change reverses, the count is %s", got)
		}
	}
}

// TestARefusedDeleteIsKeptWithAnother has one site refuse a delete, and another delete end the object once more: where the first
// has been passed over, the second says that the object does not live.
func TestARefusedDeleteIsKeptWithAnother(t *testing.T) {
	refused := op("b-1", engine.TypeDelete, 2, Vector{"a": 1}, nil)
	h := historyOf(lab, op("a-1", engine.TypeCreate, 1, nil, &Edit{}), refused, op("a-2", engine.TypeDelete, 3, Vector{"b": 1}, nil))
	if !h.Compact(h.Complete(), func(o *Operation) bool { return o == refused }, nil) {
		t.Fatal("nothing was compacted")
	}
	if h.Get(refused.ID) == nil {
		t.Error("what was refused is forgotten")
	}
	if h.Exists(func(o *Operation) bool { return o.ID != refused.ID }) {
		t.Error("the object lives where the refused delete was passed over")
	}
}

func TestACheckpointKeepsTheOrderOfElements(t *testing.T) {
	k := *lab
	k.Keys = []engine.Key{{At: "/disks", Member: "name"}}
	h := historyOf(&k)
	for i, request := range []struct {
		typ  engine.Type
		body string
	}{
		{engine.TypeCreate, `{"disks":[{"name":"z"},{"name":"y"},{"name":"x"}]}`},
		{engine.TypePatch, `[{"op":"remove","path":"/disks/1"}]`},
		{engine.TypePatch, `[{"op":"add","path":"/disks/-","value":{"name":"a"}}]`},
		{engine.TypePatch, `[{"op":"add","path":"/disks/0","value":{"name":"y"}}]`},
	} {
		before := h.Whole(Any)
		e, err := EditOf(&k, request.typ, []byte(request.body), before, func() ([]byte, error) { return before.Representation(), nil })
		if err != nil {
			t.Fatal(err)
		}
		o := op(fmt.Sprintf("a-%d", i+1), request.typ, int64(i), nil, e)
		o.Body = []byte(request.body)
		h.Add(o)
	}
	before := h.Whole(Any).Representation()
	if want := `{"disks":[{"name":"y"},{"name":"z"},{"name":"x"},{"name":"a"}]}`; string(before) != want {
		t.Fatalf("folds to %s, want %s", before, want)
	}
	if !h.Compact(Vector{"a": 3}, none, nil) {
		t.Fatal("not compacted")
	}
	if after := h.Whole(Any).Representation(); string(after) != string(before) {
		t.Errorf("folds to %s after the checkpoint, to %s before", after, before)
	}
}

// TestPlacesOfWhatIsGone: a checkpoint knows of so many removed elements only. Who sets one of them again, and has seen it go, has it last, with a
// checkpoint or without.
func TestPlacesOfWhatIsGone(t *testing.T) {
	var names []string
	for i := range maxRemoved + 10 {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	h := historyOf(listed)
	h.Add(putsList(t, h, "a-1", engine.TypeCreate, 1, names, nil))
	h.Add(putsList(t, h, "a-2", engine.TypeReplace, 2, []string{"n0", names[len(names)-1]}, nil))
	again := op("a-3", engine.TypeAction, 3, nil, set("/l/n5", "{}"))
	if h.Add(again); shownBy(h) != "n0 n109 n5" {
		t.Fatalf("the list is %s", shownBy(h))
	}
	compacted := historyOf(listed, h.Ordered()[:2]...)
	if !compacted.Compact(Vector{"a": 2}, none, nil) {
		t.Fatal("not compacted")
	}
	if compacted.Add(again); shownBy(compacted) != shownBy(h) {
		t.Errorf("with a checkpoint the list is %s", shownBy(compacted))
	}
}

// TestWhatComesTooLateStaysOut: what a checkpoint stands for is known, and what should have seen it is held back.
func TestWhatComesTooLateStaysOut(t *testing.T) {
	h := historyOf(lab, op("a-1", engine.TypeCreate, 1, nil, set("/n", "1")), op("a-2", engine.TypeMerge, 5, nil, set("/n", "2")))
	if !h.Compact(Vector{"a": 2}, none, nil) {
		t.Fatal("not compacted")
	}
	h.Add(op("a-1", engine.TypeCreate, 1, nil, set("/n", "9")))
	if h.Held() != 0 || string(h.Whole(Any).Cells["/n"].Value) != "2" {
		t.Error("what the checkpoint stands for counts once more")
	}
	h.Add(op("b-1", engine.TypeMerge, 6, Vector{"a": 1}, set("/n", "3")))
	h.Add(op("c-1", engine.TypeMerge, 4, Vector{"a": 2}, set("/n", "4")))
	if h.Held() != 2 || h.Len() != 0 {
		t.Errorf("%d count that come after the checkpoint and have not seen it", h.Len())
	}
	if h.Add(op("d-1", engine.TypeMerge, 6, Vector{"a": 2}, set("/n", "5"))) == nil || h.Last("a") != 2 || h.At("a", 2) != nil {
		t.Error("what has seen it all does not count")
	}
}

// TestABodyThatIsABlobIsKeptAsWhatItSets: the bytes of a large create are gone once every site has it.
func TestABodyThatIsABlobIsKeptAsWhatItSets(t *testing.T) {
	large := strings.Repeat("x", engine.MaxInlineBody)
	create := op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: map[Pointer]json.RawMessage{"/name": json.RawMessage(`"n"`), "/notes": json.RawMessage(`"` + large + `"`)}})
	create.Blob = &engine.BlobRef{Hash: engine.BlobHash(strings.Repeat("0", 64)), Size: 1 << 20}
	small := op("b-1", engine.TypeCreate, 2, nil, set("/name", `"n"`))
	small.Blob = create.Blob
	for o, want := range map[*Operation]bool{create: false, small: true} {
		h := historyOf(lab, o)
		if !h.Compact(h.Complete(), none, nil) {
			t.Fatal("not compacted")
		}
		kept := h.Get(o.ID)
		if kept.Blob != nil || (len(kept.Body) > 0) != want || h.Base().Validate() != nil {
			t.Errorf("kept is a body of %d bytes and a blob %v: %v", len(kept.Body), kept.Blob, h.Base().Validate())
		}
		if body := string(Body(lab, kept)); !strings.Contains(body, `"name":"n"`) || strings.Contains(body, large) == want {
			t.Errorf("the object is made anew from %.60s", body)
		}
	}
}

// TestCheckpointsFromOutside changes a checkpoint in ways that no honest site does.
func TestCheckpointsFromOutside(t *testing.T) {
	make := func() *Checkpoint {
		place := placing("a-3", 3, sites("d"), nil)
		h := historyOf(lab, op("a-1", engine.TypeCreate, 1, nil, set("/n", "1")), op("a-2", engine.TypeMerge, 2, nil, set("/n", "2")), place,
			op("b-1", engine.TypeMerge, 3, Vector{"a": 1}, set("/n", "3")), op("b-2", engine.TypeMerge, 4, Vector{"a": 3}, set("/m", "3")),
			op("c-1", engine.TypeMerge, 5, Vector{"a": 3, "b": 1}, set("/n", "9")))
		if !h.Compact(Vector{"a": 3, "b": 2}, none, nil) || len(h.Base().Late) == 0 || len(h.Base().Superseded) == 0 {
			t.Fatal("the checkpoint has nothing to change")
		}
		return h.Base()
	}
	if err := make().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(c *Checkpoint){
		"nothing":                     func(c *Checkpoint) { *c = Checkpoint{} },
		"a null operation":            func(c *Checkpoint) { c.Kept[0] = &Operation{} },
		"an operation of nobody":      func(c *Checkpoint) { c.Late[0].Line = "" },
		"an operation beyond it":      func(c *Checkpoint) { c.Late[0].Number = 3 },
		"an operation twice":          func(c *Checkpoint) { c.Late = append(c.Late, c.Late[0]) },
		"one in both lists":           func(c *Checkpoint) { c.Late = append([]*Operation{c.Kept[0]}, c.Late...) },
		"operations out of order":     func(c *Checkpoint) { c.Kept[0], c.Kept[1] = c.Kept[1], c.Kept[0] },
		"one that has seen the rest":  func(c *Checkpoint) { c.Late[0].Seen = Vector{"c": 1} },
		"one that has seen itself":    func(c *Checkpoint) { c.Late[0].Seen = Vector{"b": 1} },
		"one after it":                func(c *Checkpoint) { c.Late[0].Time = 99 },
		"an invalid operation":        func(c *Checkpoint) { c.Kept[0].Edit = nil },
		"a large body":                func(c *Checkpoint) { c.Kept[0].Body = append(c.Kept[0].Body, []byte(strings.Repeat("x", 1<<17))...) },
		"a number of nobody":          func(c *Checkpoint) { c.Seen[""] = 1 },
		"a number that is none":       func(c *Checkpoint) { c.Seen["z"] = 0 },
		"an absurd number":            func(c *Checkpoint) { c.Seen["z"] = 1 << 60 },
		"more seen than there is":     func(c *Checkpoint) { c.Firm["a"] = 4 },
		"more than there is":          func(c *Checkpoint) { c.Count = 5 },
		"an end before its beginning": func(c *Checkpoint) { c.First = c.Time + 1 },
		"no placement":                func(c *Checkpoint) { c.Placed = nil },
		"nowhere":                     func(c *Checkpoint) { c.Placed.Sites = nil },
		"unsorted sites":              func(c *Checkpoint) { c.Placed.Sites = sites("b", "a") },
		"a site twice":                func(c *Checkpoint) { c.Placed.Sites = sites("a", "a") },
		"parts of others":             func(c *Checkpoint) { c.Placed.Parts = engine.Parts{{"a"}, {"z"}} },
		"an empty part":               func(c *Checkpoint) { c.Placed.Parts = engine.Parts{{"a", "b", "c", "d"}, {}} },
		"placed by nothing":           func(c *Checkpoint) { c.Placed.Added["d"] = "x" },
		"placed by a create":          func(c *Checkpoint) { c.Placed.Added["d"] = "a-1" },
		"a loss of nothing":           func(c *Checkpoint) { c.Lost = []OperationID{"x"} },
		"an invalid name":             func(c *Checkpoint) { c.Newest = []OperationID{"!"} },
		"an invalid order":            func(c *Checkpoint) { c.Order = map[Pointer][]string{"x": {"y"}} },
		"a lost value that is none":   func(c *Checkpoint) { c.Superseded[0].Value = []byte("x") },
		"a lost value of nobody":      func(c *Checkpoint) { c.Superseded[0].By = "" },
		"a lost value nowhere":        func(c *Checkpoint) { c.Superseded[0].Path = "x" },
		"a place that is none":        func(c *Checkpoint) { c.Whereabouts = []engine.Whereabouts{{}} },
		"a long media type":           func(c *Checkpoint) { c.MergeType = strings.Repeat("x", 300) },
	} {
		c := make()
		for i, o := range c.Late {
			copied := *o
			c.Late[i] = &copied
		}
		change(c)
		if err := c.Validate(); !errors.Is(err, engine.ErrRefused) {
			t.Errorf("with %s it is taken: %v", name, err)
		}
		var again Checkpoint
		if err := engine.Decode(engine.Encode(c), &again); err == nil && again.Validate() == nil {
			t.Errorf("with %s it is taken once it was decoded", name)
		}
	}
}

// TestWhatHasEndedStaysEnded: of a create that a delete has ended nothing lives again because it once added to a number.
func TestWhatHasEndedStaysEnded(t *testing.T) {
	add := &Edit{Set: set("/name", `"old"`).Set, Add: map[Pointer]engine.Increment{"/count": {By: "3", From: "1"}}}
	h := historyOf(lab, op("a-1", engine.TypeCreate, 1, nil, add), op("b-1", engine.TypeCreate, 2, nil, set("/name", `"new"`)),
		op("a-2", engine.TypeDelete, 3, nil, nil))
	before := h.Born(Any)
	if !h.Compact(h.Complete(), none, nil) || h.Born(Any).ID != before.ID || h.Get("a-1") != nil {
		t.Errorf("the resource is that of %v then, and of %s before", h.Born(Any), before.ID)
	}
}

// TestWhatHasEndedTellsNothingOfANumber: one of two creates is deleted, and with it what added to a number. What is left does not have the number, with a
// checkpoint as without: who tells where it began builds on a create that is gone.
func TestWhatHasEndedTellsNothingOfANumber(t *testing.T) {
	adds := &Edit{Add: map[Pointer]engine.Increment{"/n": {By: "3", From: "100"}}}
	h := historyOf(lab,
		op("b-1", engine.TypeCreate, 1, nil, set("/n", "100")),
		op("c-1", engine.TypeCreate, 1, nil, set("/a", "1")),
		op("a-1", engine.TypeDelete, 2, Vector{"b": 1}, nil),
		op("b-2", engine.TypeMerge, 2, nil, set("/n", "100")),
		op("b-3", engine.TypeAction, 3, nil, adds),
		op("c-2", engine.TypeMerge, 20, Vector{"a": 1, "b": 1}, set("/a", "2")))
	digest := h.Whole(Any).Digest("d")
	if !h.Compact(Vector{"a": 1, "b": 3, "c": 1}, none, nil) {
		t.Fatal("no checkpoint stands for what is settled everywhere")
	}
	if f := h.Whole(Any); string(f.Representation()) != `{"a":2}` || f.Digest("d") != digest {
		t.Errorf("it folds to %s", f.Representation())
	}
}
