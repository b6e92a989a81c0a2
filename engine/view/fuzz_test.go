package view

import (
	"errors"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
	"github.com/skerry/skerry/engine/merge"
)

// looks asks a view what others ask of it: nothing panics, whatever it has taken in.
func (v *View) looks() {
	v.Kept(nil)
	v.Digest()
	v.Shared()
	v.Have()
	v.Whole()
	v.LacksAny()
	v.Yielding()
	v.Claim(true)
	v.Standing(v.Self)
	v.Inside("box")
	v.Lapse(start.Add(time.Hour), time.Minute)
	v.History.Whole(merge.Any).Representation()
	v.Tell(start)
}

// FuzzEntries has a site that has a part in a resource write any bytes into the maps of its document.
func FuzzEntries(f *testing.F) {
	inside := engine.Inner{Kind: "item", Name: "blue", Local: "1"}
	maps := []engine.MapName{engine.MapOperations, engine.MapReplicas, engine.MapDecisions, engine.MapContents}
	paris := lineOf("paris")
	f.Add(uint8(0), paris.op(engine.TypeCreate, 1, nil, set("/a", "1"), nil).Entries[0].Value)
	f.Add(uint8(0), paris.op(engine.TypePlace, 1, nil, nil, &engine.PlacementChange{Add: []engine.SiteID{"lille"}, Remove: []engine.SiteID{"nantes"}}).Entries[0].Value)
	f.Add(uint8(1), engine.Encode(engine.Replica{Local: "42"}))
	f.Add(uint8(2), engine.Encode(engine.Decision{By: "paris", User: "ann"}))
	f.Add(uint8(3), engine.Encode(inside))
	for i := range maps {
		f.Add(uint8(i), []byte{0xf6})
		f.Add(uint8(i), []byte{0xa0})
	}
	f.Fuzz(func(t *testing.T, which uint8, value []byte) {
		v, paris := of("nantes"), lineOf("paris")
		v.take(t, paris.op(engine.TypeCreate, 1, nil, set("/b", "1"), nil))
		v.TakeChange(paris.write(engine.Entry{Map: maps[int(which)%len(maps)], Value: value}), admits, func(error) {})
		v.TakeChange(lineOf("nantes").op(engine.TypeMerge, 2, engine.Vector{"paris": 1}, set("/c", "1"), nil), admits, func(error) {})
		v.looks()
	})
}

// FuzzFoundation has another site offer any bytes for what stands for the epochs before. What a view begins with can be told to others again.
func FuzzFoundation(f *testing.F) {
	v, paris := of("nantes"), lineOf("paris")
	for second, what := range []engine.Type{engine.TypeCreate, engine.TypeMerge, engine.TypeMerge} {
		v.TakeChange(paris.op(what, second, nil, set("/a", "1"), nil), admits, func(err error) { f.Error(err) })
	}
	v.Said["paris"] = Said{Replica: engine.Replica{Local: "42"}}
	if !v.History.Compact(engine.Vector{"paris": 2}, merge.Any, nil) {
		f.Fatal("nothing is compacted")
	}
	_, whole, err := v.Found()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add([]byte{0xf6})
	f.Add([]byte{0xa0})
	for field := range 8 { // a list of nothing where there may be one
		f.Add(engine.Encode(map[int]any{1: map[int]any{field: []any{nil}}, 2: []any{nil}, 3: map[string]any{"paris": []any{nil}}, 6: []string{"paris"}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v := of("nantes")
		if err := v.Begin(b); err != nil {
			return
		}
		if err := v.History.Base().Validate(); err != nil {
			t.Fatalf("it begins with what is no checkpoint: %v", err)
		}
		v.looks()
		_, again, err := v.Found()
		if errors.Is(err, engine.ErrTooLarge) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := of("nantes").Begin(again); err != nil {
			t.Fatalf("what was taken in is refused when it is told again: %v", err)
		}
	})
}
