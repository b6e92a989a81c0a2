package engine

import (
	"encoding/json"
	"testing"
)

// TestWhatWasSentWithoutAnAnswerLeavesNothing lets a correction reach the application without an answer. Then its operations
// become void, or fold to what was there before: the application has to show the fold all the same.
func TestWhatWasSentWithoutAnAnswerLeavesNothing(t *testing.T) {
	create := &Operation{ID: "c1", Type: TypeCreate, Origin: "a", Seq: 1, Time: 1, Seen: map[Line]uint64{}, Change: set(`/name`, `"n"`)}
	merge := &Operation{ID: "m1", Type: TypeMerge, Origin: "a", Seq: 2, Time: 2, Seen: map[Line]uint64{}, Change: set(`/a`, `7`)}
	remove := &Operation{ID: "d1", Type: TypeDelete, Origin: "a", Seq: 3, Time: 9, Seen: map[Line]uint64{}}
	other := &Operation{ID: "c2", Type: TypeCreate, Origin: "b", Seq: 1, Time: 3, Seen: map[Line]uint64{}, Change: set(`/a`, `1`)}
	again := &Operation{ID: "m2", Type: TypeMerge, Origin: "c", Seq: 1, Time: 8, Seen: map[Line]uint64{create.Line(): 1, other.Line(): 1}, Change: set(`/a`, `1`)}
	first := &Operation{ID: "m3", Type: TypeMerge, Origin: "a", Seq: 2, Time: 2, Seen: map[Line]uint64{}, Change: set(`/a`, `7`)}
	unsure := &Operation{ID: "m4", Type: TypeMerge, Origin: "b", Seq: 1, Time: 3, Seen: map[Line]uint64{create.Line(): 1}, Change: set(`/b`, `1`)}
	last := &Operation{ID: "m5", Type: TypeMerge, Origin: "c", Seq: 1, Time: 8, Seen: map[Line]uint64{create.Line(): 2}, Change: set(`/z`, `1`)}
	one := *lab
	one.Resolutions = []Resolution{{"merge", "merge", TakeOne}}
	for name, c := range map[string]struct {
		settled, known []*Operation
		left, want     string // what the application shows, before and after
		kind           *Kind
	}{
		"void":       {[]*Operation{other}, []*Operation{create, merge, remove}, `{"a":7,"name":"n"}`, `{"a":1}`, lab},
		"the same":   {[]*Operation{create, other}, []*Operation{merge, again}, `{"a":7,"name":"n"}`, `{"a":1,"name":"n"}`, lab},
		"taken away": {[]*Operation{create, first, last}, []*Operation{unsure}, `{"b":1,"name":"n","z":1}`, `{"a":7,"name":"n","z":1}`, &one},
	} {
		h := HistoryOf(c.kind)
		settled, void := map[*Operation]bool{}, map[*Operation]bool{}
		for _, o := range c.settled {
			settled[o] = true
			h.Add(o)
		}
		for _, o := range c.known {
			h.Add(o)
		}
		if len(h.Ordered()) != len(c.settled)+len(c.known) {
			t.Fatalf("%s: of the operations %d are held back", name, h.Held())
		}
		s := Standing{
			Settled: func(o *Operation) bool { return settled[o] },
			Void:    func(o *Operation) bool { return void[o] },
			Blocked: func(*Operation) bool { return false },
			Unsure:  func(o *Operation) bool { return o == create || o == merge || o == unsure },
		}
		shows := []byte(c.left)
		for n := 0; ; n++ {
			step := Next(h, s)
			if step.Kind == StepNothing || n > 9 {
				break
			}
			if step.Kind == StepCorrect {
				var err error
				if shows, err = step.Correction.ApplyTo(lab, shows); err != nil {
					t.Fatal(err)
				}
			} else if step.Kind != StepSkip && step.Kind != StepVacuous {
				t.Fatalf("%s: the next step is to %s", name, step.Kind)
			}
			for _, o := range step.Operations {
				settled[o], void[o] = true, step.Void || step.Kind == StepSkip
			}
		}
		if string(shows) != c.want {
			t.Errorf("%s: the application shows %s, want %s", name, shows, c.want)
		}
	}
}

func set(p Pointer, v string) *Change {
	return &Change{Set: map[Pointer]json.RawMessage{p: json.RawMessage(v)}}
}
