package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/tree"
)

// listed is a kind with an array of named elements, in order.
var listed = func() *Kind {
	k := *lab
	k.Keys = []engine.Key{{At: "/l", Member: "name"}}
	return &k
}()

func listOf(names []string) []byte {
	list := []any{}
	for _, n := range names {
		list = append(list, map[string]any{"name": n})
	}
	return tree.Compact(map[string]any{"l": list})
}

// puts is the operation of a client who saw h's list and puts another one.
func putsList(t interface{ Fatal(...any) }, h *History, id string, typ engine.Type, at int64, names []string, seen Vector) *Operation {
	e, err := EditOf(listed, typ, listOf(names), h.Whole(Any), nil)
	if err != nil {
		t.Fatal(err)
	}
	o := op(id, typ, at, seen, e)
	o.Body = listOf(names)
	return o
}

func shownBy(h *History) string { return strings.Join(h.Whole(Any).Order()["/l"], " ") }

// TestOrdersOfTwoSides has two sites, cut off from each other, put another list each where both had one. The second is later.
func TestOrdersOfTwoSides(t *testing.T) {
	for _, c := range []struct{ base, one, two, want, lost string }{
		{"wait seed", "wait migrate seed", "wait seed log", "wait migrate seed log", ""},
		{"wait seed", "wait seed log", "wait migrate seed", "wait migrate seed log", ""},
		{"a b", "a x b", "a y b", "a x y b", ""},
		{"a b c", "c a b", "a b c d", "c a b d", ""},
		{"a b c", "a b c", "c a b", "c a b", ""},
		{"a b c", "c a b", "c a b", "c a b", ""},                                                  // both the same
		{"a b c d", "b a c d", "a b d c", "b a d c", ""},                                          // different elements
		{"a b c", "a c", "a b x c", "a x c", ""},                                                  // what it was put after is gone
		{"a b c", "a b x c", "a c", "a x c", ""},                                                  // likewise, the other way round
		{"a b c d", "c a b d", "a b d c", "a b d c", "c a b d"},                                   // both have moved c
		{"a b c", "c a b", "a c b", "c a b", ""},                                                  // one puts c first, and the other b last
		{"wait seed", "wait migrate seed", "seed wait", "migrate seed wait", "wait migrate seed"}, // between two that the other turned round
		{"wait seed", "seed wait", "wait migrate seed", "seed wait migrate", "seed wait"},
		{"", "a b", "b a", "b a", "a b"},
		{"", "a x c", "a b c", "a x b c", ""},
	} {
		h := historyOf(listed, op("a-1", engine.TypeCreate, 1, nil, set("/name", `"n"`)))
		if c.base != "" {
			h.Add(putsList(t, h, "a-2", engine.TypeMerge, 2, strings.Fields(c.base), nil))
		}
		seen := Vector{"a": h.Last("a")}
		one, two := putsList(t, h, "b-1", engine.TypeMerge, 3, strings.Fields(c.one), seen), putsList(t, h, "c-1", engine.TypeMerge, 4, strings.Fields(c.two), seen)
		for _, order := range [][]*Operation{{one, two}, {two, one}} {
			both := historyOf(listed, append(slices.Clone(h.Ordered()), order...)...)
			lost := both.Whole(Any).Superseded
			said := ""
			if len(lost) > 0 {
				tokens, _ := tree.TokensOf(lost[0].Value)
				said = strings.Join(tokens, " ")
			}
			if got := shownBy(both); got != c.want || said != c.lost {
				t.Errorf("%q and %q of %q are %q, and lost is %q; want %q and %q", c.one, c.two, c.base, got, said, c.want, c.lost)
			}
			if c.lost == "" {
				continue
			}
			if len(lost) != 1 {
				t.Fatalf("lost are %+v", lost)
			}
			if l := lost[0]; l.Rule != ByPlace || l.By != "b-1" || l.Over != "c-1" || l.Path != "/l" {
				t.Errorf("lost is %+v", l)
			}
			both.Compact(both.Complete(), none, nil)
			if len(both.Whole(Any).Superseded) != 1 || shownBy(both) != c.want {
				t.Errorf("a checkpoint of %q and %q is %q", c.one, c.two, shownBy(both))
			}
			both.Add(putsList(t, both, fmt.Sprintf("a-%d", both.Last("a")+1), engine.TypeMerge, 9, append([]string{"new"}, strings.Fields(c.want)...), Vector{"b": 1, "c": 1}))
			if lost := both.Whole(Any).Superseded; len(lost) > 0 {
				t.Errorf("who had seen both has arranged them, and it is a conflict all the same: %+v", lost)
			}
		}
	}
}

// TestInvariantOrdersAreKept has sites put lists, heard of in any order: all have one order, which keeps where each operation has put what, or a
// conflict names the operation.
func TestInvariantOrdersAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := strings.Fields("p q r s t u")
		sites := []*History{historyOf(listed), historyOf(listed), historyOf(listed)}
		create := putsList(t, sites[0], "a-1", engine.TypeCreate, 1, rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID).Draw(t, "created"), nil)
		all := []*Operation{create}
		for _, h := range sites {
			h.Add(create)
		}
		for n := range rapid.IntRange(1, 8).Draw(t, "steps") {
			i := rapid.IntRange(0, 2).Draw(t, "site")
			h := sites[i]
			if rapid.IntRange(0, 2).Draw(t, "hear") == 0 {
				h.Add(rapid.SampledFrom(all).Draw(t, "operation"))
				continue
			}
			list := h.Whole(Any).Order()["/l"]
			if name := rapid.SampledFrom(names).Draw(t, "name"); slices.Contains(list, name) && rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
				list = slices.DeleteFunc(list, func(s string) bool { return s == name })
			} else {
				list = slices.DeleteFunc(list, func(s string) bool { return s == name })
				list = slices.Insert(list, rapid.IntRange(0, len(list)).Draw(t, "at"), name)
			}
			seen, time := h.Complete().Clone(), int64(n)+2
			line := Line("abc"[i : i+1])
			delete(seen, line)
			o := putsList(t, h, fmt.Sprintf("%s-%d", line, h.Last(line)+1), engine.TypeMerge, time, list, seen)
			h.Add(o)
			all = append(all, o)
		}
		whole := historyOf(listed, all...)
		fold := whole.Whole(Any)
		for range 3 {
			other := historyOf(listed, rapid.Permutation(all).Draw(t, "order")...)
			if got := other.Whole(Any); string(got.Representation()) != string(fold.Representation()) || len(got.Superseded) != len(fold.Superseded) {
				t.Fatalf("heard of in another order it is %s, not %s", got.Representation(), fold.Representation())
			}
		}
		at := map[string]int{}
		for i, name := range fold.Order()["/l"] {
			at[name] = i
		}
		for _, o := range all {
			later := func(token string) bool { // somebody who has seen o has put it elsewhere, or it was there anew
				return slices.ContainsFunc(all, func(w *Operation) bool {
					return whole.Before(o, w) && (slices.Contains(w.Edit.Unset, Pointer("/l").Append(token)) || len(w.Edit.Order["/l"]) > 0 && placedBy(w.Edit, "/l")(token))
				})
			}
			var wrong []string
			for i, token := range o.Edit.Order["/l"] {
				if i == 0 {
					continue
				}
				before := o.Edit.Order["/l"][i-1]
				a, one := at[before]
				b, two := at[token]
				placed := placedBy(o.Edit, "/l")
				if one && two && a > b && (placed(before) || placed(token)) && !later(before) && !later(token) {
					wrong = []string{before, token}
				}
			}
			told := slices.ContainsFunc(fold.Superseded, func(l engine.Superseded) bool { return l.Rule == ByPlace && (l.By == o.ID || l.Over == o.ID) })
			settled := slices.ContainsFunc(all, func(w *Operation) bool { return whole.Before(o, w) && len(w.Edit.Order["/l"]) > 0 })
			if len(wrong) > 0 && !told && !settled {
				t.Fatalf("%s has put %q of %q where they stand, the list is %q, and nobody is told", o.ID, wrong, o.Edit.Order["/l"], fold.Order()["/l"])
			}
		}
	})
}

// peer is a site that hears of the others' operations and statuses at its own times, and lets go of what it may.
type peer struct {
	*History
	line    Line
	issued  []*Operation
	settled map[Line]Vector // what each is known to have settled, by its last status here
}

// hear takes in what another site has issued, and its status.
func (p *peer) hear(from *peer) {
	for _, o := range from.issued {
		p.Add(o)
	}
	p.settled[from.line] = from.Complete()
}

// issue lets p ask for something: another list, as clients write it, or anything at all.
func (p *peer) issue(t *rapid.T, now int64) *Operation {
	types := []engine.Type{engine.TypeMerge, engine.TypeMerge, engine.TypeReplace, engine.TypeReplace, engine.TypeAction, engine.TypeDelete}
	typ := rapid.SampledFrom(types).Draw(t, "type")
	switch {
	case len(p.Complete()) == 0:
		typ = engine.TypeCreate
	case !p.Exists(Any): // the next incarnation has a document of its own
		return nil
	}
	now = max(now, p.Base().Until()+1) // what it stands for may be gone
	for _, o := range p.Ordered() {
		now = max(now, o.Time+1)
	}
	edit := drawEdit(t, p.History, typ)
	var body []byte
	if typ != engine.TypeAction && typ != engine.TypeDelete && rapid.Bool().Draw(t, "writes a list") {
		list := rapid.SliceOfNDistinct(rapid.SampledFrom(strings.Fields("b x y z")), 0, 4, rapid.ID).Draw(t, "list")
		body = bytes.Replace(listOf(list), []byte(`"l"`), []byte(`"a"`), 1)
		var err error
		if edit, err = EditOf(p.kind, typ, body, p.Whole(Any), nil); err != nil {
			t.Fatal(err)
		}
	}
	o := op(fmt.Sprintf("%s-%d", p.line, p.Last(p.line)+1), typ, now, p.Complete(), edit)
	delete(o.Seen, p.line)
	o.Body = body
	p.Add(o)
	p.issued = append(p.issued, o)
	return o
}

// compact puts a checkpoint in the place of what all have settled, as far as p knows, and may: the others' operations are all here that they had
// issued when they said so.
func (p *peer) compact(t *rapid.T) {
	vectors := []Vector{p.Complete()}
	for _, other := range []Line{"a", "b", "c"} {
		if other == p.line {
			continue
		}
		settled := p.settled[other]
		if p.Last(other) < settled[other] {
			return
		}
		vectors = append(vectors, settled)
	}
	if p.Compact(engine.Meet(vectors...), none, nil) {
		p.Stand(reread(t, p.Base()))
	}
}

// conflicts are the orders that are lost, in words.
func conflicts(f Fold) string {
	var list []string
	for _, l := range f.Superseded {
		if l.Rule == ByPlace {
			list = append(list, fmt.Sprintf("%s: %s of %s over %s", l.Path, l.Value, l.By, l.Over))
		}
	}
	return strings.Join(list, "; ")
}

// TestInvariantListsAreTheSameEverywhere has three sites write lists while they hear of each other at random, and let go of what all have settled at
// random: in the end all have the same elements in the same order, which is what the operations amount to without any checkpoint.
func TestInvariantListsAreTheSameEverywhere(t *testing.T) {
	for name, k := range kinds() {
		if len(k.Keys) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				var sites []*peer
				for _, line := range []Line{"a", "b", "c"} {
					sites = append(sites, &peer{History: historyOf(k), line: line, settled: map[Line]Vector{}})
				}
				whole := historyOf(k)
				for range rapid.IntRange(1, 60).Draw(t, "steps") {
					p := rapid.SampledFrom(sites).Draw(t, "site")
					switch rapid.IntRange(0, 4).Draw(t, "does") {
					case 0, 1:
						if o := p.issue(t, rapid.Int64Range(0, 20).Draw(t, "clock")); o != nil {
							whole.Add(o)
						}
					case 2, 3:
						if from := rapid.SampledFrom(sites).Draw(t, "from"); from != p {
							p.hear(from)
						}
					default:
						p.compact(t)
					}
				}
				want := whole.Whole(Any)
				for range 2 {
					for _, p := range sites {
						for _, from := range sites {
							if from != p {
								p.hear(from)
							}
						}
					}
				}
				for _, compacted := range []bool{false, true} {
					for _, p := range sites {
						if compacted {
							p.compact(t)
						}
						if got := p.Whole(Any); got.Digest("d") != want.Digest("d") || conflicts(got) != conflicts(want) {
							t.Fatalf("%s folds to %s with %q, and all of it is %s with %q", p.line, got.Representation(), conflicts(got), want.Representation(), conflicts(want))
						}
					}
				}
			})
		})
	}
}

// TestSetsHaveNoOrder: where the catalog says so, another order is no change.
func TestSetsHaveNoOrder(t *testing.T) {
	k := *listed
	k.Unordered = []Pointer{"/l"}
	h := historyOf(&k)
	e, err := EditOf(&k, engine.TypeCreate, listOf([]string{"b", "a"}), Fold{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.Add(op("a-1", engine.TypeCreate, 1, nil, e))
	turned, err := EditOf(&k, engine.TypeReplace, listOf([]string{"a", "b"}), h.Whole(Any), nil)
	if err != nil || !turned.Empty() || len(e.Order) > 0 {
		t.Errorf("another order of a set is %+v, %v", turned, err)
	}
	root, _, _ := tree.Canonical(&k, listOf([]string{"b", "a"}))
	if d := h.Whole(Any).Deviations(&k, root); len(d) > 0 {
		t.Errorf("a set in another order differs at %q", d)
	}
	root, _, _ = tree.Canonical(listed, listOf([]string{"a", "b"}))
	in := historyOf(listed, op("a-1", engine.TypeCreate, 1, nil, &Edit{Set: e.Set, Order: map[Pointer][]string{"/l": {"b", "a"}}}))
	if d := in.Whole(Any).Deviations(listed, root); !slices.Equal(d, []Pointer{"/l"}) {
		t.Errorf("a list in another order differs at %q", d)
	}
	if !json.Valid(in.Whole(Any).Representation()) || shownBy(in) != "b a" {
		t.Errorf("it shows %q", shownBy(in))
	}
}

// TestOrdersFromOutside: an order names each element once.
func TestOrdersFromOutside(t *testing.T) {
	for name, e := range map[string]*Edit{
		"an element twice":     {Order: map[Pointer][]string{"/l": {"a", "a"}}},
		"no element":           {Order: map[Pointer][]string{"/l": {"a", ""}}},
		"places without order": {Placed: map[Pointer][]string{"/l": {"a"}}},
		"no path":              {Order: map[Pointer][]string{"l": {"a"}}},
	} {
		if err := e.Validate(); err == nil {
			t.Errorf("an edit with %s is taken", name)
		}
	}
	if err := (&Edit{Order: map[Pointer][]string{"/l": {"a", "b"}}, Placed: map[Pointer][]string{"/l": {"z"}}}).Validate(); err != nil {
		t.Error(err)
	}
}

// TestTheOrderOfWhatHasEndedIsForgotten compacts two creates of one name, of which the delete of one is known and not yet in the checkpoint: the
// other's order is its own, as without the checkpoint.
func TestTheOrderOfWhatHasEndedIsForgotten(t *testing.T) {
	none := historyOf(listed)
	first, second := putsList(t, none, "a-1", engine.TypeCreate, 1, []string{"x", "y"}, nil), putsList(t, none, "c-1", engine.TypeCreate, 2, []string{"b", "z"}, nil)
	second.Edit.Order = nil // it says nothing of places, so they follow from what is there
	first.Edit.Set["/l/z"], first.Edit.Order = tree.Object, map[Pointer][]string{"/l": {"z", "x", "y"}}
	deleted := op("a-2", engine.TypeDelete, 3, nil, nil)
	h, whole := historyOf(listed, first, second, deleted), historyOf(listed, first, second, deleted)
	if !h.Compact(Vector{"a": 1, "c": 1}, func(*Operation) bool { return false }, func(o *Operation) bool { return o == deleted }) {
		t.Fatal("nothing was compacted")
	}
	if got, want := shownBy(h), shownBy(whole); got != want || want != "b z" {
		t.Errorf("the order is %q, and was %q", got, want)
	}
}

// TestACheckpointKeepsDeletedWhatIsArrangedLate: what comes after something late in a list is kept as it is, and so is what has deleted it.
func TestACheckpointKeepsDeletedWhatIsArrangedLate(t *testing.T) {
	h := historyOf(listed)
	seen := func(line Line, n uint64) Vector { return Vector{line: n} }
	for _, o := range []*Operation{
		putsList(t, h, "b-1", engine.TypeCreate, 1, []string{"x"}, nil),
		op("c-1", engine.TypeCreate, 1, nil, &Edit{}),
		putsList(t, h, "a-1", engine.TypeCreate, 2, []string{"y"}, nil),
		op("a-2", engine.TypeDelete, 3, nil, nil),
		op("a-3", engine.TypeMerge, 4, seen("c", 1), &Edit{}), // has not seen what b has put
	} {
		h.Add(o)
	}
	before := shownBy(h)
	if !h.Compact(Vector{"a": 2, "b": 1, "c": 1}, none, nil) {
		t.Fatal("nothing is compacted")
	}
	if got := shownBy(h); got != before || got != "x" {
		t.Errorf("after a checkpoint the list is %q, before it was %q", got, before)
	}
}

// TestWhatMovesUnderAnOrderIsTold: two have moved different elements, and the neighbours of a third one stand the other way round for it.
func TestWhatMovesUnderAnOrderIsTold(t *testing.T) {
	h := historyOf(listed)
	h.Add(putsList(t, h, "a-1", engine.TypeCreate, 1, strings.Fields("p q u"), nil))
	mine, other := historyOf(listed, h.Ordered()...), historyOf(listed, h.Ordered()...)
	moved := putsList(t, other, "a-2", engine.TypeMerge, 2, strings.Fields("p u q"), nil)
	all := []*Operation{moved}
	for n, list := range []string{"p r q u", "p r u", "p r s u"} {
		o := putsList(t, mine, fmt.Sprintf("b-%d", n+1), engine.TypeMerge, int64(n+3), strings.Fields(list), Vector{"a": 1})
		mine.Add(o)
		all = append(all, o)
	}
	both := historyOf(listed, append(h.Ordered(), all...)...)
	if lost := both.Whole(Any).Superseded; len(lost) != 1 || lost[0].Rule != ByPlace || lost[0].By != "a-2" || lost[0].Over != "b-3" {
		t.Errorf("the list is %q, and lost is %+v", shownBy(both), lost)
	}
}
