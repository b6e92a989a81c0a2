package desk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/skerry/skerry/engine"
)

func set(p engine.Pointer, v string) *engine.Edit {
	return &engine.Edit{Set: map[engine.Pointer]json.RawMessage{p: json.RawMessage(v)}}
}

// crowd puts one resource of each sort on a bench, called as what is to be done.
func crowd(t *testing.T) *bench {
	b := newBench(t)
	create := op("nantes", 1, engine.TypeCreate, &engine.Edit{})
	one := engine.Vector{"nantes": 1}
	remove := op("nantes", 2, engine.TypeDelete, nil)
	b.add("to make", boxes, nil, create)
	b.add("to delete", boxes, one, create, remove)
	held := b.add("held", boxes, one, create, remove)
	held.Me.Waits = []engine.Wait{{Kind: engine.WaitHeld, Operation: "nantes-2"}}
	mine := op("paris", 1, engine.TypeMerge, set("/a", "1"))
	mine.Seen = one
	b.add("to correct", boxes, engine.Vector{"nantes": 1, "paris": 1}, create, mine, op("nantes", 2, engine.TypeMerge, set("/b", "2")))
	b.add("to run", boxes, one, create, op("nantes", 2, engine.TypeMerge, set("/b", "2")))
	asks := b.add("asks", boxes, one, create, op("nantes", 2, engine.TypeAction, nil))
	asks.Mine.Outcomes["nantes-2"] = engine.Outcome{State: engine.StateUncertain, Blocks: true, Error: "no answer", At: 1}
	paused := b.add("paused", boxes, nil, create)
	paused.Me.Waits = []engine.Wait{{Kind: engine.WaitPaused, By: "lille", Reason: "repairs"}}
	b.add("settled", boxes, one, create)
	b.addAbout("of lille", boxes, engine.About{Service: "store", Kind: "box", Collaboration: engine.Replication, Key: "of lille",
		Placement: []engine.SiteID{"lille", "paris"}}, nil, op("lille", 1, engine.TypeCreate, &engine.Edit{}))
	for id := range b.site.replicas {
		b.store.pending = append(b.store.pending, id)
	}
	b.store.pending = append(b.store.pending, "gone meanwhile")
	slices.Sort(b.store.pending)
	b.site.held = []engine.DocumentID{"held"}
	return b
}

func TestPreview(t *testing.T) {
	b := crowd(t)
	for _, o := range []engine.OperationID{"ran-1", "ran-2"} {
		b.site.ran = append(b.site.ran, o)
		b.store.operations[o] = engine.OperationRow{ID: o, Sites: map[engine.SiteID]engine.OperationStatus{"paris": {}}}
	}
	p, err := b.Preview(t.Context(), "nantes", 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range p.Items {
		got = append(got, fmt.Sprintf("%s: %s %v %v%v %s", i.Resource, i.Does, i.Operations, i.Set, i.Unset, i.Waits))
	}
	want := []string{
		`held: delete [nantes-2] [][] deleted while the site paris was away, together with many others: it waits until somebody lets it run, or rejects it`,
		`to delete: delete [nantes-2] [][] `,
		`paused: create [nantes-1] [][] paused from lille: repairs`,
		`to make: create [nantes-1] [][] `,
		`to correct: correct [nantes-2] [/b][] `,
		`to run: run [nantes-2] [][] `,
		`asks: wait [nantes-2] [][] nobody knows whether this action ran: no answer`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if p.Held != 1 || p.Ran != nil || p.Waiting != 7 || p.Examined != 7 || fmt.Sprint(p.Steps) != "map[correct:1 create:2 delete:2 run:1 wait:1]" {
		t.Errorf("counts: %+v", p)
	}
	if p, err = b.Preview(t.Context(), "paris", 2); err != nil || len(p.Items) != 2 || p.Waiting != 8 || len(p.Ran) != 2 {
		t.Errorf("two of what this site shares: %d items of %d, %v ran, %v", len(p.Items), p.Waiting, p.Ran, err)
	}
}

func TestPreviewExaminesNoMoreThanItsBound(t *testing.T) {
	b := newBench(t)
	for i := range maxPreview + 10 {
		id := engine.DocumentID(fmt.Sprintf("%04d", i))
		b.add(id, boxes, nil, op("nantes", 1, engine.TypeCreate, &engine.Edit{}))
		b.store.pending = append(b.store.pending, id)
	}
	for with, waiting := range map[engine.SiteID]int{"paris": maxPreview + 10, "nantes": maxPreview} {
		if p, err := b.Preview(t.Context(), with, 0); err != nil || p.Examined != maxPreview || p.Waiting != waiting || len(p.Items) != usualPreview {
			t.Errorf("with %s: examined %d of %d, %d items, %v", with, p.Examined, p.Waiting, len(p.Items), err)
		}
	}
}

func TestConfirm(t *testing.T) {
	b := crowd(t)
	b.site.held = []engine.DocumentID{"held", "not for nantes", "to delete"}
	b.site.fails["not for nantes"] = engine.ErrSettled
	if n, err := b.Confirm(t.Context(), engine.Decider{Site: "nantes"}, nil); n != 2 || err != nil {
		t.Errorf("confirmed %d, %v", n, err)
	}
	if want := []string{"held: confirm nantes", "to delete: confirm nantes"}; !slices.Equal(b.site.decided, want) {
		t.Errorf("decided %q, want %q", b.site.decided, want)
	}
	b.site.decided = nil
	b.store.operations["nantes-2"] = engine.OperationRow{ID: "nantes-2", Document: "held"}
	if n, err := b.Confirm(t.Context(), engine.Decider{User: "ann", Site: "nantes"}, []engine.OperationID{"nantes-2", "unknown"}); n != 1 || err != nil {
		t.Errorf("confirmed %d of those that are meant, %v", n, err)
	}
	if want := []string{"held: confirm ann nantes"}; !slices.Equal(b.site.decided, want) {
		t.Errorf("decided %q, want %q", b.site.decided, want)
	}
	b.site.fails["to delete"] = engine.ErrStorage
	if n, err := b.Confirm(t.Context(), engine.Decider{Site: "nantes"}, nil); n != 1 || !errors.Is(err, engine.ErrStorage) {
		t.Errorf("with a full disk: confirmed %d, %v", n, err)
	}
}
