package desk

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/skerry/skerry/engine"
)

func TestSettle(t *testing.T) {
	ctx := t.Context()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		id       engine.OperationID
		requests map[engine.OperationID][]engine.Action
		store    error
		want     map[string]string // by what is decided: what comes of it
	}{
		"a request of no document": {
			id: "kept", requests: map[engine.OperationID][]engine.Action{"kept": {engine.ActionDrop}},
			want: map[string]string{"retry": engine.ErrSettled.Error(), "done": engine.ErrSettled.Error(), "drop": "request"},
		},
		"a kept request that a replica has in flight": {
			id: "nantes-1", requests: map[engine.OperationID][]engine.Action{"nantes-1": {engine.ActionDrop}},
			want: map[string]string{"retry": "replica", "done": "replica", "drop": "replica"},
		},
		"an operation of a document":       {id: "nantes-1", want: map[string]string{"retry": "replica", "done": "replica", "drop": "replica"}},
		"an operation of a lost document":  {id: "lost", want: map[string]string{"retry": "not found", "done": "not found", "drop": "not found"}},
		"a request that was settled":       {id: "past", want: map[string]string{"retry": engine.ErrSettled.Error(), "drop": engine.ErrSettled.Error()}},
		"nothing":                          {id: "none", want: map[string]string{"retry": "settle operation none: not found"}},
		"an operation that cannot be read": {id: "nantes-1", store: broken, want: map[string]string{"done": "settle operation nantes-1: broken"}},
	} {
		t.Run(name, func(t *testing.T) {
			for verb, want := range test.want {
				b := newBench(t)
				b.add("doc", boxes, nil, op("nantes", 1, engine.TypeCreate, &engine.Edit{}))
				b.store.operations["past"] = engine.OperationRow{ID: "past"}
				b.store.operations["lost"] = engine.OperationRow{ID: "lost", Document: "elsewhere"}
				b.requests.open, b.store.err = test.requests, test.store
				decide := map[string]func() error{
					"retry": func() error { return b.Retry(ctx, test.id, engine.Decider{}) },
					"done":  func() error { return b.Done(ctx, test.id, engine.Decider{}) },
					"drop":  func() error { return b.Drop(ctx, test.id, engine.Decider{}) },
				}[verb]
				err := decide()
				switch want {
				case "request":
					if err != nil || !slices.Equal(b.requests.settled, []string{verb + " " + string(test.id)}) {
						t.Errorf("%s: %v, settled %q", verb, err, b.requests.settled)
					}
				case "replica":
					if err != nil || !slices.Equal(b.site.decided, []string{"doc: " + verb + " " + string(test.id)}) {
						t.Errorf("%s: %v, decided %q", verb, err, b.site.decided)
					}
				default:
					if err == nil || err.Error() != want {
						t.Errorf("%s: %v, want %s", verb, err, want)
					}
				}
			}
		})
	}
}

func TestDecisions(t *testing.T) {
	ctx := t.Context()
	b := newBench(t)
	r := b.add("doc", boxes, engine.Vector{"nantes": 1}, op("nantes", 1, engine.TypeCreate, &engine.Edit{}), op("nantes", 2, engine.TypeAction, nil))
	r.Mine.Outcomes["nantes-2"] = engine.Outcome{State: engine.StateUncertain, Blocks: true, At: 1}
	b.requests.open["kept"], b.requests.open["nantes-2"] = []engine.Action{engine.ActionDrop}, []engine.Action{engine.ActionDrop}
	b.store.operations["past"] = engine.OperationRow{ID: "past"}
	b.store.operations["lost"] = engine.OperationRow{ID: "lost", Document: "elsewhere"}
	all := []engine.Action{engine.ActionRetry, engine.ActionDone, engine.ActionDrop}
	for id, want := range map[engine.OperationID][]engine.Action{"kept": {engine.ActionDrop}, "nantes-1": nil, "nantes-2": all, "past": nil, "lost": nil} {
		if got, err := b.Decisions(ctx, id); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, %v, want %v", id, got, err, want)
		}
	}
	if _, err := b.Decisions(ctx, "none"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("an unknown one: %v", err)
	}
}

func TestAdoptObject(t *testing.T) {
	b := newBench(t)
	b.add("doc", racks, nil, op("nantes", 1, engine.TypeCreate, &engine.Edit{}))
	err := b.AdoptObject(t.Context(), "nantes-1", "r7", engine.Decider{})
	if want := []string{"doc: adopt nantes-1 r7"}; err != nil || !slices.Equal(b.site.decided, want) {
		t.Errorf("decided %q, %v, want %q", b.site.decided, err, want)
	}
}

func TestNextTry(t *testing.T) {
	b := newBench(t)
	r := b.add("doc", boxes, engine.Vector{"nantes": 1}, op("nantes", 1, engine.TypeCreate, &engine.Edit{}), op("nantes", 2, engine.TypeMerge, &engine.Edit{}))
	b.requests.open["kept"] = nil
	probe := start.Add(time.Hour)
	check := func(when, document engine.DocumentID, id engine.OperationID, want time.Time) {
		t.Helper()
		if got := b.NextTry(engine.OperationRow{ID: id, Document: document, Service: "store"}); !got.Equal(want) {
			t.Errorf("%s: got %s, want %s", when, got, want)
		}
	}
	check("a kept request", "", "kept", start.Add(time.Minute))
	check("what is settled", "doc", "nantes-1", time.Time{})
	check("what may run now", "doc", "nantes-2", time.Time{})
	check("what is not here", "elsewhere", "x", time.Time{})
	b.site.queues["store"] = engine.QueueStatus{State: engine.QueueFailing, Next: probe}
	check("what is settled, while the service fails", "doc", "nantes-1", time.Time{})
	check("what waits for the service", "doc", "nantes-2", probe)
	r.Mine.Outcomes["nantes-2"] = engine.Outcome{State: engine.StateUncertain, Blocks: true}
	check("what waits for a person", "doc", "nantes-2", time.Time{})
}
